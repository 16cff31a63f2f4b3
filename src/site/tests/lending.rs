//! Sessions in which a queue lends its idle targets.

use super::*;

/// Four nodes of batch, which lends all but one to spare once they are idle for 10 s, for 100 s at most.
const TWO: &str = "create batch policy=easy precedence=1 lend=spare floor=1 idle=10 home=30 longest=100; \
                   create spare policy=easy; online 0-3; start batch; start spare";

/// Runs a session, and compares what it says of loans and starts.
fn told(bed: &mut Bed, script: &str) {
    let (mut actual, mut expected) = (String::new(), String::new());
    for line in script.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        expected.push_str(line);
        expected.push('\n');
        let Some(step) = line.strip_prefix('@') else { continue };
        let (at, events) = step.split_once(' ').unwrap_or((step, ""));
        let events = events.replace("TWO", TWO);
        let _ = writeln!(actual, "@{step}");
        for line in bed.step(at.parse().expect("a time"), &events) {
            if ["lent ", "prolonged ", "back ", "start ", "refused"].iter().any(|word| line.starts_with(word)) {
                let _ = writeln!(actual, "> {line}");
            }
        }
        assert_eq!(bed.site.violations(), [], "at {at}");
    }
    assert_eq!(actual, expected, "left: what happened; right: what the session says\n{actual}");
}

#[test]
fn a_loan_is_made_for_a_job_that_starts_with_it_and_for_as_long() {
    told(
        &mut bed(),
        "
        @0 TWO; submit 1 q=spare n=2 t=60
        # Not idle for long enough.
        @9
        @10
        > lent 0-1 batch to spare until 70
        > start 1 spare 0-1
        # Nobody needs more.
        @20
        @40 end 1; free 1
        @49
        @50
        > back 0-1 spare to batch: it was not used
        ",
    );
}

#[test]
fn it_ends_at_its_time_and_a_job_that_overruns_keeps_its_target() {
    let mut bed = bed();
    told(
        &mut bed,
        "
        @0 TWO; submit 1 q=spare n=1 t=60
        @10
        > lent 0 batch to spare until 70
        > start 1 spare 0
        @70 submit 2 q=batch n=4 t=10
        > back 0 spare to batch: its time came
        @75 end 1; free 1
        > start 2 batch 0-3
        ",
    );
}

#[test]
fn the_floor_is_never_lent() {
    told(
        &mut bed(),
        "
        @0 TWO; submit 1 q=spare n=2 t=60; submit 2 q=spare n=2 t=60; submit 3 q=spare n=1 t=50
        @10
        > lent 2 batch to spare until 60
        > lent 0-1 batch to spare until 70
        > start 1 spare 0-1
        > start 3 spare 2
        # One more fails: the youngest loan goes. It is all one age: the highest target.
        @20 offline 3
        > back 2 spare to batch: floor, cap or configuration allow it no more
        ",
    );
}

#[test]
fn a_borrower_has_no_more_than_its_cap() {
    told(
        &mut bed(),
        "
        @0 TWO; change spare policy=easy cap=2; submit 1 q=spare n=1 t=60; submit 2 q=spare n=3 t=60; submit 3 q=spare n=1 t=50
        @10
        > lent 1 batch to spare until 60
        > lent 0 batch to spare until 70
        > start 1 spare 0
        > start 3 spare 1
        @20 change spare policy=easy cap=1
        > back 1 spare to batch: floor, cap or configuration allow it no more
        ",
    );
}

#[test]
fn only_jobs_that_end_in_time() {
    told(
        &mut bed(),
        "
        # Longer than the longest loan.
        @0 TWO; submit 1 q=spare n=1 t=101; submit 2 q=spare n=1 t=100
        @10
        > lent 0 batch to spare until 110
        > start 2 spare 0
        ",
    );
    told(
        &mut bed(),
        "
        # The head of batch will need every node at 50.
        @0 TWO; submit 1 q=batch n=2 t=50; submit 2 q=batch n=4 t=10
        > start 1 batch 0-1
        @10 submit 3 q=spare n=1 t=41; submit 4 q=spare n=1 t=40
        > lent 2 batch to spare until 50
        > start 4 spare 2
        @50 end 1; free 1; end 4; free 4
        > back 2 spare to batch: its time came
        > start 2 batch 0-3
        ",
    );
    told(
        &mut bed(),
        "
        # The head of a fcfs queue has no reservation, and yet its start.
        @0 TWO; change batch policy=fcfs precedence=1 lend=spare idle=10; submit 1 q=batch n=2 t=50; submit 2 q=batch n=4 t=10
        > start 1 batch 0-1
        @10 submit 3 q=spare n=1 t=41; submit 4 q=spare n=1 t=40
        > lent 2 batch to spare until 50
        > start 4 spare 2
        ",
    );
    told(
        &mut bed(),
        "
        # Another queue will have the nodes at 50.
        @0 TWO; create night precedence=2; plan evening 50 -batch +night; submit 3 q=spare n=1 t=41; submit 4 q=spare n=1 t=40
        @10
        > lent 0 batch to spare until 50
        > start 4 spare 0
        @50 end 4; free 4
        > back 0 spare to batch: the lender would not have it any more
        ",
    );
}

#[test]
fn the_lender_plans_a_target_as_arriving_at_the_end() {
    let mut bed = bed();
    told(
        &mut bed,
        "
        @0 TWO; submit 1 q=spare n=2 t=60
        @10
        > lent 0-1 batch to spare until 70
        > start 1 spare 0-1
        @20 submit 2 q=batch n=3 t=30
        ",
    );
    assert_eq!(bed.site.job(JobId(2)).map(|j| j.planned), Some(Timestamp::from_secs(70)));
}

#[test]
fn a_loan_ends_early_only_for_a_job_that_starts_at_once() {
    told(
        &mut bed(),
        "
        @0 TWO; change batch policy=easy precedence=1 lend=spare idle=10 home=30 longest=100
        @1 submit 1 q=spare n=1 t=60; submit 2 q=spare n=1 t=60
        @10
        > lent 0-1 batch to spare until 70
        > start 1 spare 0
        > start 2 spare 1
        @15 end 1; free 1
        # Work of the lender alone is no reason: this job needs the node of job 2 as well.
        @16 submit 3 q=batch n=4 t=10
        # The borrower goes on with what it has, if that ends in time.
        @17 submit 4 q=spare n=1 t=50
        > start 4 spare 0
        @20 end 2; free 2; cancel 3
        # This one starts with node 1, so that node comes back.
        @21 submit 5 q=batch n=3 t=10
        > back 1 spare to batch: a job of the lender needs it
        > start 5 batch 1-3
        # Home for 30 s, idle for 10 s before it is lent again, and the floor.
        @31 end 5; free 5; submit 6 q=spare n=1 t=20
        @41
        > lent 2 batch to spare until 61
        > start 6 spare 2
        @42 submit 7 q=spare n=1 t=20; submit 8 q=spare n=1 t=20
        > lent 3 batch to spare until 62
        > start 7 spare 3
        @50
        @51
        > lent 1 batch to spare until 71
        > start 8 spare 1
        ",
    );
}

#[test]
fn a_loan_is_prolonged_rather_than_made_anew() {
    told(
        &mut bed(),
        "
        @0 TWO; submit 1 q=spare n=1 t=60
        @10
        > lent 0 batch to spare until 70
        > start 1 spare 0
        @15 end 1; free 1; submit 2 q=spare n=1 t=90
        > prolonged 0 batch to spare until 105
        > start 2 spare 0
        # No loan is longer than 100 s: it began at 10.
        @100 end 2; free 2; submit 3 q=spare n=1 t=11
        > lent 1 batch to spare until 111
        > start 3 spare 1
        ",
    );
}

#[test]
fn loans_end_by_hand() {
    told(
        &mut bed(),
        "
        @0 TWO; submit 1 q=spare n=1 t=60
        @10 recall 0-3
        > refused: none of the targets 0-3 is lent: `queue list` and `explain node` show which are
        > lent 0 batch to spare until 70
        > start 1 spare 0
        @20 recall 0-3
        > back 0 spare to batch: it was recalled
        @21 end 1; free 1; submit 2 q=batch n=4 t=5
        > start 2 batch 0-3
        ",
    );
}

#[test]
fn no_longer_lender_and_borrower() {
    let made = "
        @0 TWO; submit 1 q=spare n=1 t=60
        @10
        > lent 0 batch to spare until 70
        > start 1 spare 0
        ";
    for (event, why) in [
        ("change batch policy=easy precedence=1", "floor, cap or configuration allow it no more"),
        ("change spare policy=easy from=other", "floor, cap or configuration allow it no more"),
        ("release batch", "the lender would not have it any more"),
        ("release spare", "the borrower may not have it any more"),
    ] {
        let mut bed = bed();
        told(&mut bed, made);
        told(&mut bed, &format!("@20 {event}\n> back 0 spare to batch: {why}"));
        // The job runs on.
        assert_eq!(bed.state(1), JobState::Running);
    }
    // A pause is no reason.
    let mut bed = bed();
    told(&mut bed, made);
    told(&mut bed, "@20 stop batch; stop spare");
}

#[test]
fn a_job_takes_no_more_of_others_than_it_needs() {
    told(
        &mut bed_of(6),
        "
        # Nodes 4 and 5 are spare's own.
        @0 create batch policy=easy precedence=1 hosts=node[0-3] lend=spare; create spare policy=easy; online 0-5; start batch; start spare
        @10 submit 1 q=spare n=4 t=60
        > lent 0-1 batch to spare until 70
        > start 1 spare 0-1,4-5
        ",
    );
}

#[test]
fn borrowers_come_in_the_order_of_precedence_and_leave_each_other_their_floors() {
    told(
        &mut bed(),
        "
        @0 create batch precedence=2 lend=standby,ci; create standby; create ci precedence=1 kept=2; online 0-3; start batch; start ci; start standby
        @10 submit 1 q=standby n=1 t=60; submit 2 q=standby n=1 t=60; submit 3 q=standby n=1 t=60
        > lent 0-1 batch to standby until 70
        > start 1 standby 0
        > start 2 standby 1
        @20 submit 4 q=ci n=1 t=60
        > lent 2 batch to ci until 80
        > start 4 ci 2
        @30 end 1; free 1; end 2; free 2; cancel 3; end 4; free 4
        @31
        > back 0-1 standby to batch: it was not used
        > back 2 ci to batch: it was not used
        ",
    );
}

#[test]
fn the_first_borrower_that_asks_is_the_first_in_order() {
    told(
        &mut bed(),
        "
        @0 create batch precedence=2 lend=standby,ci; create standby; create ci precedence=1; online 0-3; start batch; start ci; start standby
        @10 submit 1 q=standby n=3 t=60; submit 2 q=ci n=3 t=60
        > lent 0-2 batch to ci until 70
        > start 2 ci 0-2
        ",
    );
}

#[test]
fn lenders_are_asked_in_the_order_that_the_borrower_says() {
    let queues = "create a precedence=1 hosts=node[0-1] lend=c; create b precedence=1 hosts=node[2-3] lend=c";
    for (from, target) in [("", 0), (" from=b,a", 0), (" from=b", 2)] {
        let script = format!(
            "
            @0 {queues}; create c{from}; online 0-3; start a; start b; start c
            @10 submit 1 q=c n=1 t=60
            > lent {target} {} to c until 70
            > start 1 c {target}
            ",
            if target == 0 { "a" } else { "b" }
        );
        told(&mut bed(), &script);
    }
}
