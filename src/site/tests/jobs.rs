//! Sessions about jobs.

use super::*;

#[test]
fn a_job_starts_ends_and_frees() {
    check(
        &mut bed(),
        "
        @0 create batch; online 0-3; start batch
        > created batch
        > started batch
        > up batch 0-3
        @1 submit 1 n=3 t=60; submit 2 n=2 t=60
        > start 1 batch 0-2
        @2 end 1
        @3 free 1
        > start 2 batch 0-1
        @4 end 2; free 2
        @5 submit 2 n=1
        > denied 2: the job id is taken
        @5 submit 3 n=5
        > denied 3: unsatisfiable: node per queue: asked 5, available 4
        @5 submit 4 q=other n=1
        > denied 4: queue other does not exist
        ",
    );
}

#[test]
fn a_requeued_job_waits_while_its_targets_are_still_held() {
    check(
        &mut bed(),
        "
        @0 create batch; online 0-3; start batch
        > created batch
        > started batch
        > up batch 0-3
        @1 submit 1 n=3 t=60
        > start 1 batch 0-2
        @2 requeue 1
        @3 free 1 0-1
        > start 1 batch 0-1,3
        @4 end 1; free 1 0; free 1
        > refused: 2 runs of job 1 hold resources: name the targets that are released
        @5 requeue 1; free 1
        > refused: job 1 is completed: expected a job that is running
        > refused: 2 runs of job 1 hold resources: name the targets that are released
        ",
    );
}

#[test]
fn jobs_are_changed_while_they_wait() {
    check(
        &mut bed(),
        "
        @0 create batch policy=easy; create small hosts=node[0-1]; online 0-3; start batch
        > created batch
        > created small
        > started batch
        > up batch 0-3
        @1 submit 1 q=batch n=4 t=60; submit 2 q=batch n=4 t=60; submit 3 q=batch n=4 t=60; submit 4 q=batch n=1 t=10
        > start 1 batch 0-3
        @2 prioritize 3 30; cancel 2; cancel 1; cancel 9
        > refused: job 9 is unknown: it was never submitted here
        > cancelled 2
        > kill 1
        @3 move 4 small; move 3 small; relimit 1 500; relimit 2 5
        > refused: job 2 is cancelled: expected a job that is pending, held or running
        > denied 3: unsatisfiable: node per queue: asked 4, available 2
        @4 end 1; free 1; end 1
        > refused: job 1 is completed: expected a job that is running
        ",
    );
}

#[test]
fn a_job_longer_than_every_window_is_held_and_says_so() {
    let mut bed = bed();
    check(
        &mut bed,
        "
        @0 create day; create night; online 0-3; start day
        > created day
        > created night
        > started day
        > up day 0-3
        @1 plan evening 100 -day +night; plan morning 200 -night +day
        @2 submit 1 q=night n=1 t=500; submit 2 q=night n=1 t=99
        @100
        > down day 0-3
        > released day: planned switch evening
        > started night: planned switch evening
        > due evening
        > leaving day 0-3 to night
        > donated day 0-3 to night since 100
        > up night 0-3
        > held 1: exceeds-window: limit 500, longest window 100
        > start 2 night 0
        ",
    );
    assert_eq!(bed.state(1), JobState::Held);
}

#[test]
fn parts_of_targets_are_shared() {
    check(
        &mut bed_of(1),
        "
        @0 create batch; online 0; start batch
        > created batch
        > started batch
        > up batch 0
        @1 submit 1 slots=1; submit 2 n=1 c=1; submit 3 n=1 c=1
        > start 1 batch 0[0]
        > start 2 batch 0[1]
        @2 end 1; free 1
        > start 3 batch 0[0]
        ",
    );
}
