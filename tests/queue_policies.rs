//! What queues let in, in which order their jobs stand, and what virtual queues add to that.

mod site_kit;

use site_kit::{Bed, nodes};
use sluice::base::{Duration, JobId, Priority};
use sluice::site::{Event, JobState, StartMode, Submission, Why};

/// A job of some user.
struct Ask {
    id: u64,
    queue: &'static str,
    user: u32,
    nodes: u64,
    limit: i64,
    priority: i64,
}

impl Ask {
    fn new(id: u64, queue: &'static str) -> Self {
        Self { id, queue, user: 1, nodes: 1, limit: 100, priority: 16 }
    }

    fn user(self, user: u32) -> Self {
        Self { user, ..self }
    }

    fn nodes(self, nodes: u64) -> Self {
        Self { nodes, ..self }
    }

    fn limit(self, limit: i64) -> Self {
        Self { limit, ..self }
    }

    fn priority(self, priority: i64) -> Self {
        Self { priority, ..self }
    }

    fn submit(self, bed: &mut Bed) {
        bed.tell(Event::Submit(Box::new(Submission {
            id: JobId(self.id),
            queue: Some(self.queue.to_owned()),
            priority: Priority(self.priority),
            userid: self.user,
            limit: Some(Duration::from_secs(self.limit)),
            request: Ok(nodes(self.nodes)),
        })));
        bed.step();
    }
}

fn denied(bed: &Bed, id: u64) -> String {
    match &bed.site.job(JobId(id)).expect("a known job").why {
        Why::Denied(denial) => denial.to_string(),
        other => panic!("job {id} is not denied: {other:?}"),
    }
}

fn runs(bed: &Bed, ids: &[u64]) -> Vec<u64> {
    ids.iter().copied().filter(|id| bed.runs(*id)).collect()
}

const SITE: &str = r#"
    [users]
    ann = 1001
    bob = 1002

    [groups]
    physics = ["ann", "1003"]

    [policy]
    limits = { duration = "2h", job-size.max.nnodes = 3 }

    [queues.batch]
    policy.limits.duration = "1h"
    policy.limits.job-size.max.ncores = 4
    policy.access = { allow-user = ["bob", "carl"], allow-group = ["physics", "staff"] }

    [queues.expedite]
    parent = "batch"
    policy.priority-boost = 1000
    policy.access.allow-user = ["bob"]
    policy.access.allow-group = []

    [queues.exempt]
    parent = "batch"
    policy.limits = { duration = "0", job-size.max = { nnodes = -1, ncores = -1 } }

    [queues.standby]
    parent = "batch"
    policy.priority-boost = -1000
"#;

#[test]
fn who_may_submit_is_named_with_queue_user_and_key() {
    let mut bed = Bed::of(4, SITE, &["batch", "expedite"]);
    for (id, queue, user) in [(1, "batch", 1001), (2, "batch", 1002), (3, "batch", 1003), (4, "batch", 1004)] {
        Ask::new(id, queue).user(user).submit(&mut bed);
    }
    assert_eq!(runs(&bed, &[1, 2, 3, 4]), [1, 2, 3], "a name, a group by name, a group by number");
    assert_eq!(
        denied(&bed, 4),
        "user 1004 may not submit to queue batch: queues.batch.policy.access lets in user bob, \
         user carl (whom [users] has not), group physics, group staff (which [groups] has not)"
    );
    // The virtual queue sets both keys; what it does not set would be its parent's.
    Ask::new(5, "expedite").user(1001).submit(&mut bed);
    let text = "user ann (1001) may not submit to queue expedite: queues.expedite.policy.access lets in user bob";
    assert_eq!(denied(&bed, 5), text);
    Ask::new(6, "expedite").user(1002).submit(&mut bed);
    assert!(bed.runs(6));
    let error = bed.try_tell(Event::MoveJob { job: JobId(6), queue: "batch".to_owned() }).unwrap_err();
    assert!(error.to_string().contains("running"), "{error}");
}

#[test]
fn a_limit_names_its_key_what_was_asked_and_what_is_allowed() {
    let mut bed = Bed::of(4, SITE, &["batch", "expedite", "exempt", "standby"]);
    let ask = |id, queue| Ask::new(id, queue).user(1002);
    ask(1, "batch").limit(5400).submit(&mut bed);
    assert_eq!(denied(&bed, 1), "queues.batch.policy.limits.duration: asked 1.5h, allowed at most 1h");
    ask(2, "standby").limit(0).submit(&mut bed);
    let text = "queues.standby.policy.limits.duration: asked no limit, allowed at most 1h";
    assert_eq!(denied(&bed, 2), text, "of the parent, not of [policy]");
    ask(3, "expedite").nodes(4).submit(&mut bed);
    let text = "queues.expedite.policy.limits.job-size.max.nnodes: asked 4, allowed at most 3";
    assert_eq!(denied(&bed, 3), text, "of [policy], by way of the parent");
    ask(4, "exempt").nodes(4).limit(90_000).submit(&mut bed);
    assert!(bed.runs(4), "a virtual queue may lift what its parent bounds");
    let anonymous = "policy.limits.duration = '1h'";
    let mut bed = Bed::of(1, anonymous, &["default"]);
    Ask::new(1, "default").limit(7200).submit(&mut bed);
    assert_eq!(denied(&bed, 1), "policy.limits.duration: asked 2h, allowed at most 1h");
}

const ORDER: &str = r#"
    [queues.batch]
    policy.scheduler.queue-policy = "easy"

    [queues.expedite]
    parent = "batch"
    policy.priority-boost = 1000

    [queues.standby]
    parent = "batch"
    policy.priority-boost = -1000
"#;

/// The order in which jobs start when one node is left.
fn order(bed: &mut Bed, blocker: u64, ids: &[u64]) -> Vec<u64> {
    bed.finish(blocker);
    let mut order = Vec::new();
    while let Some(next) = ids.iter().copied().find(|id| bed.runs(*id)) {
        order.push(next);
        bed.finish(next);
    }
    order
}

#[test]
fn a_boost_is_added_to_the_priority_of_each_job_of_the_queue() {
    let mut bed = Bed::of(1, ORDER, &["batch", "expedite", "standby"]);
    Ask::new(1, "batch").submit(&mut bed);
    let asks = [(2, "standby", 31), (3, "standby", 16), (4, "batch", 16), (5, "batch", 20), (6, "expedite", 1)];
    for (id, queue, priority) in asks {
        Ask::new(id, queue).priority(priority).submit(&mut bed);
    }
    // 1001, 20, 16, then 31 - 1000 and 16 - 1000: below zero they still differ.
    assert_eq!(order(&mut bed, 1, &[2, 3, 4, 5, 6]), [6, 5, 4, 2, 3]);
}

#[test]
fn another_boost_another_priority_and_a_move_count_at_once_and_after_a_restart() {
    let mut bed = Bed::of(1, ORDER, &["batch", "expedite", "standby"]);
    Ask::new(1, "batch").submit(&mut bed);
    for (id, queue) in [(2, "batch"), (3, "standby"), (4, "expedite"), (5, "standby")] {
        Ask::new(id, queue).submit(&mut bed);
    }
    let mut standby = bed.site.queue_config("standby").expect("a queue").clone();
    standby.policy.priority_boost = 2000;
    bed.tell(Event::QueueChange { config: Box::new(standby) });
    bed.tell(Event::Prioritize { jobs: vec![(JobId(5), Priority(17))] });
    bed.tell(Event::MoveJob { job: JobId(2), queue: "expedite".to_owned() });
    bed.tell(Event::Prioritize { jobs: vec![(JobId(4), Priority(15))] });
    bed.step();
    bed.restart();
    assert_eq!(order(&mut bed, 1, &[2, 3, 4, 5]), [5, 3, 2, 4], "2017, 2016, 1016, 1015");
}

#[test]
fn a_virtual_queue_is_eligible_when_it_and_its_parent_are_started() {
    let mut bed = Bed::of(2, ORDER, &["batch"]);
    Ask::new(1, "expedite").submit(&mut bed);
    Ask::new(2, "batch").submit(&mut bed);
    assert_eq!(runs(&bed, &[1, 2]), [2], "the jobs of a stopped virtual queue are in nobody's way");
    let view = bed.view("expedite");
    assert_eq!((view.started, view.eligible(), view.blocked_by()), (false, false, None));
    bed.tell(Event::QueueStop { queue: "batch".to_owned(), release: false, reason: "a pause".to_owned() });
    bed.start("expedite");
    bed.step();
    let view = bed.view("expedite");
    assert_eq!((view.started, view.eligible(), view.blocked_by()), (true, false, Some("parent")));
    assert!(bed.waits(1), "started, but its parent is not");
    bed.restart();
    assert!(bed.waits(1));
    bed.start("batch");
    bed.step();
    let view = bed.view("expedite");
    assert_eq!((view.started, view.eligible(), view.blocked_by()), (true, true, None));
    assert!(bed.runs(1));
    assert_eq!(view.jobs.running, 1, "counted by the name that it was submitted to");
    assert_eq!(bed.view("batch").jobs.running, 1);
}

#[test]
fn submissions_to_a_virtual_queue_go_by_its_own_switch() {
    let mut bed = Bed::of(1, ORDER, &["batch", "standby"]);
    bed.tell(Event::QueueDisable { queue: "batch".to_owned(), reason: "closing".to_owned() });
    Ask::new(1, "standby").submit(&mut bed);
    Ask::new(2, "batch").submit(&mut bed);
    assert_eq!((bed.state(1), bed.state(2)), (JobState::Running, JobState::Denied));
    bed.tell(Event::QueueDisable { queue: "standby".to_owned(), reason: String::new() });
    Ask::new(3, "standby").submit(&mut bed);
    assert_eq!(bed.state(3), JobState::Denied);
    let group = sluice::site::GroupMode { min: None, give_up: site_kit::at(9) };
    let mode = StartMode { group: Some(group), ..StartMode::default() };
    let error = bed.try_tell(Event::QueueStart { queue: "standby".to_owned(), mode }).unwrap_err();
    assert!(error.to_string().contains("standby"), "{error}");
}

#[test]
fn one_order_of_all_jobs_whatever_their_queue() {
    let mut bed = Bed::of(4, ORDER, &["batch", "expedite", "standby"]);
    Ask::new(1, "batch").nodes(2).submit(&mut bed);
    Ask::new(2, "expedite").nodes(3).submit(&mut bed);
    // Behind the reservation of the expedite job only what does not delay it starts.
    Ask::new(3, "batch").nodes(2).limit(200).submit(&mut bed);
    Ask::new(4, "standby").nodes(1).limit(200).submit(&mut bed);
    Ask::new(5, "standby").nodes(2).limit(50).submit(&mut bed);
    assert_eq!(runs(&bed, &[1, 2, 3, 4, 5]), [1, 4], "3 and 5 would take what 2 waits for");
    bed.finish(1);
    assert_eq!(runs(&bed, &[2, 3, 4, 5]), [2, 4]);
}
