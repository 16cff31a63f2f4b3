//! The matrix of flux-sched #1558, in which a node was given to two jobs after a queue was added over it: four changes of
//! queues, with four kinds of holders on the nodes that move, with the scheduler restarted in each step or not.
//!
//! At each phase: queues are started or stopped as they were told, each has exactly the nodes that it must have and as many
//! of them free, no job is harmed, and a probe that needs every node of the recipient starts with the last release, in no
//! step before. Every step is checked against the ledger (I1–I6) and by passes on copies (I9, I10).

mod site_kit;

use site_kit::{Bed, queue_with, set};
use sluice::base::{JobId, TargetSet};
use sluice::config::{QueueConfig, QueuePolicy};
use sluice::site::{Event, JobState, Outcome};

/// What is done to the queues. Before: `batch` has nodes 0 to 3, and comes first for them; `debug` covers all, and has 4 and 5.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// `dat` comes over nodes 0 and 1, and before both.
    AddQueue,
    /// `batch` keeps 2 and 3; 0 and 1 go to `debug`.
    MoveNodes,
    /// `batch` is removed; all it has goes to `debug`.
    RemoveQueue,
    /// `batch` gets 4 and 5, `debug` 0 to 3.
    SwapQueues,
}

/// Who holds nodes 0 and 1 when it is done.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holders {
    /// A job that runs on both.
    Running,
    /// A job that has ended on both; node 0 is released, node 1 is in housekeeping.
    PartlyFreed,
    /// A job that has ended on both, both in housekeeping.
    Housekeeping,
    /// A job that runs on node 0, and one that has ended on 1 and 2, of which 2 is released.
    Both,
}

fn config(name: &str, nodes: &str, precedence: i32) -> QueueConfig {
    queue_with(name, nodes, precedence, QueuePolicy::Easy)
}

fn before() -> Vec<QueueConfig> {
    vec![config("batch", "0-3", 1), config("debug", "0-5", 0)]
}

impl Change {
    fn after(self) -> Vec<QueueConfig> {
        match self {
            Change::AddQueue => [before(), vec![config("dat", "0-1", 2)]].concat(),
            Change::MoveNodes => vec![config("batch", "2-3", 1), config("debug", "0-5", 0)],
            Change::RemoveQueue => vec![config("debug", "0-5", 0)],
            Change::SwapQueues => vec![config("batch", "4-5", 1), config("debug", "0-3", 0)],
        }
    }

    /// The queue that gets nodes 0 and 1.
    fn recipient(self) -> &'static str {
        match self {
            Change::AddQueue => "dat",
            Change::MoveNodes | Change::RemoveQueue | Change::SwapQueues => "debug",
        }
    }

    /// What each queue has in the end.
    fn owners(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Change::AddQueue => vec![("batch", "2-3"), ("debug", "4-5"), ("dat", "0-1")],
            Change::MoveNodes => vec![("batch", "2-3"), ("debug", "0-1,4-5")],
            Change::RemoveQueue => vec![("debug", "0-5")],
            Change::SwapQueues => vec![("batch", "4-5"), ("debug", "0-3")],
        }
    }
}

/// A step towards the release of everything.
#[derive(Clone, Copy, Debug)]
enum Step {
    End(u64),
    Free(u64, u32),
}

impl Holders {
    /// Brings it about; the nodes that are held then.
    fn set_up(self, bed: &mut Bed) -> TargetSet {
        match self {
            Holders::Running => bed.submit(1, "batch", 2, 1000),
            Holders::PartlyFreed => {
                bed.submit(1, "batch", 2, 1000);
                bed.end(1);
                bed.free(1, "0");
                return set("1");
            }
            Holders::Housekeeping => {
                bed.submit(1, "batch", 2, 1000);
                bed.end(1);
            }
            Holders::Both => {
                bed.submit(1, "batch", 1, 1000);
                bed.submit(2, "batch", 2, 1000);
                bed.end(2);
                bed.free(2, "2");
            }
        }
        set("0-1")
    }

    /// What happens from then on, in order.
    fn steps(self) -> Vec<Step> {
        match self {
            Holders::Running => vec![Step::End(1), Step::Free(1, 1), Step::Free(1, 0)],
            Holders::PartlyFreed => vec![Step::Free(1, 1)],
            Holders::Housekeeping => vec![Step::Free(1, 0), Step::Free(1, 1)],
            Holders::Both => vec![Step::Free(2, 1), Step::End(1), Step::Free(1, 0)],
        }
    }

    fn running(self) -> bool {
        matches!(self, Holders::Running | Holders::Both)
    }
}

struct Case {
    change: Change,
    holders: Holders,
    restarts: bool,
    bed: Bed,
    held: TargetSet,
}

impl Case {
    fn restart(&mut self) {
        if self.restarts {
            self.bed.restart();
        }
    }

    /// Every queue has what it must have, given what is still held.
    fn check(&self, phase: &str) {
        let what = format!("{:?} with {:?}, restarts {}, {phase}", self.change, self.holders, self.restarts);
        let names: Vec<String> = self.bed.site.queue_views().iter().map(|q| q.name.to_string()).collect();
        let owners = self.change.owners();
        assert_eq!(names.len(), owners.len(), "{what}: {names:?}");
        let mut sum = 0;
        for (name, nodes) in owners {
            let view = self.bed.view(name);
            assert!(view.started && view.enabled && view.claiming, "{what}: {name}");
            let there = &set(nodes) - &self.held;
            assert_eq!(view.owned, there, "{what}: {name} owns");
            assert_eq!(view.up, there, "{what}: {name} up");
            assert_eq!(view.arriving, &set(nodes) & &self.held, "{what}: {name} arriving");
            let leaving = if name == "batch" { self.held.clone() } else { TargetSet::new() };
            assert_eq!(view.leaving, leaving, "{what}: {name} leaving");
            let taken = self.taken(name);
            assert_eq!(self.bed.free_in(name).len(), there.len() - taken, "{what}: {name} free");
            sum += view.owned.len();
        }
        assert_eq!(sum + self.held.len(), 6, "{what}: every node is somewhere");
        assert_eq!(self.bed.site.violations(), [], "{what}");
    }

    /// How many nodes of a queue the probes hold.
    fn taken(&self, queue: &str) -> usize {
        let of = |probe| if self.bed.site.job(JobId(probe)).is_some() { self.bed.held_by(probe).len() } else { 0 };
        if queue == self.change.recipient() { of(PROBE) } else { of(OTHER) * usize::from(queue == "batch") }
    }
}

/// Needs every node of the recipient.
const PROBE: u64 = 100;
/// Needs every node of the other queue that changes, which are free at once.
const OTHER: u64 = 101;

fn run(change: Change, holders: Holders, restarts: bool) {
    let bed = Bed::new(6, &before(), &["batch", "debug"]);
    let mut case = Case { change, holders, restarts, bed, held: TargetSet::new() };
    let what = format!("{change:?} with {holders:?}, restarts {restarts}");
    assert_eq!((case.bed.view("batch").up, case.bed.view("debug").up), (set("0-3"), set("4-5")), "{what}");
    case.held = holders.set_up(&mut case.bed);
    let free = &set("0-3") - &case.held;
    case.restart();
    assert_eq!(case.bed.free_in("batch"), free, "{what}: before");
    assert!(case.bed.nobody_harmed());

    // The change: configured as a whole; what is new is stopped and has nothing.
    case.bed.configure(&change.after(), None);
    if change == Change::AddQueue {
        assert!(!case.bed.view("dat").started && case.bed.view("dat").owned.is_empty(), "{what}: created stopped");
        assert_eq!(case.bed.view("batch").up, set("0-3"), "{what}: nothing moves before the start");
        case.restart();
        case.bed.start("dat");
        case.bed.step();
    }
    case.check("changed");
    case.restart();
    case.check("changed, restarted");
    assert_eq!(case.bed.runs(1), holders.running(), "{what}");

    // The probes.
    let all = change.owners().into_iter().find(|(name, _)| *name == change.recipient()).map(|(_, nodes)| set(nodes));
    let all = all.expect("the recipient");
    case.bed.submit(PROBE, change.recipient(), all.len() as u64, 50);
    assert!(case.bed.waits(PROBE), "{what}: {} is held", case.held);
    if change != Change::RemoveQueue {
        case.bed.submit(OTHER, "batch", 2, 50);
        assert!(case.bed.runs(OTHER), "{what}: what stays, or comes free, is used at once");
    }
    case.check("probes");
    case.restart();
    case.check("probes, restarted");

    // One release after the other.
    for step in holders.steps() {
        assert!(case.bed.waits(PROBE), "{what}: before {step:?}, {} is held", case.held);
        match step {
            Step::End(job) => case.bed.tell(Event::End { job: JobId(job), outcome: Outcome::Completed }),
            Step::Free(job, node) => {
                case.bed.free(job, &node.to_string());
                case.held.remove(sluice::base::TargetId(node));
            }
        }
        case.bed.step();
        case.check(&format!("after {step:?}"));
        assert_eq!(case.bed.runs(PROBE), case.held.is_empty(), "{what}: after {step:?}");
        case.restart();
        case.check(&format!("after {step:?}, restarted"));
        assert_eq!(case.bed.runs(PROBE), case.held.is_empty(), "{what}: after {step:?}, restarted");
    }
    assert_eq!(case.bed.held_by(PROBE), all, "{what}");
    assert_eq!(case.bed.state(1), JobState::Ended(Outcome::Completed), "{what}");
    case.bed.finish(PROBE);
    case.restart();
    if change != Change::RemoveQueue {
        case.bed.finish(OTHER);
    }
    case.check("in the end");
    for (name, nodes) in change.owners() {
        assert_eq!(case.bed.free_in(name), set(nodes), "{what}: {name} in the end");
    }
    assert!(case.bed.nobody_harmed(), "{what}");
}

#[test]
fn all_32_cases_of_the_matrix() {
    let mut cases = 0;
    for change in [Change::AddQueue, Change::MoveNodes, Change::RemoveQueue, Change::SwapQueues] {
        for holders in [Holders::Running, Holders::PartlyFreed, Holders::Housekeeping, Holders::Both] {
            for restarts in [false, true] {
                run(change, holders, restarts);
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 32);
}
