//! A scheduler behind the protocol, in this process: one of ours, told in the protocol's words.

use sluice::base::{Duration, JobId, TargetSet, Timestamp};
use sluice::formats::count::{Count, Step};
use sluice::graph::{Graph, Properties};
use sluice::matcher::{Amount, Extent, Freed, Part, Request, Selection, Shape, Share};
use sluice::scheduler::wire::{JobInfo, RequestInfo, Said, ShareInfo, Told, shares_of};
use sluice::scheduler::{HelloJob, Input, JobRequest, Output, PassEnd, Scheduler};
use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

/// A program behind its pipes.
struct Program {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Elsewhere {
    /// The time of the last pass: it knows no other.
    clock: Timestamp,
    graph: Arc<Graph>,
    program: Option<Program>,
    pub scheduler: Option<Scheduler>,
    pub inbox: VecDeque<Told>,
    pub outbox: VecDeque<Said>,
}

impl Elsewhere {
    pub fn new(graph: Arc<Graph>) -> Self {
        Self {
            clock: Timestamp::ZERO,
            graph,
            program: None,
            scheduler: None,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
        }
    }

    /// One that is a program.
    pub fn program(graph: Arc<Graph>, file: &Path) -> Self {
        let mut command = Command::new("python3");
        command.arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 is there");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { program: Some(Program { child, to, from }), ..Self::new(graph) }
    }

    /// Whether it is a program, which cannot be asked what it knows.
    pub fn is_program(&self) -> bool {
        self.program.is_some()
    }

    fn through_pipes(&mut self, told: &Told) {
        let program = self.program.as_mut().expect("a program");
        writeln!(program.to, "{}", serde_json::to_string(told).expect("it writes")).expect("it listens");
        // What is answered at once is read at once: the test delays it after that.
        if !matches!(told, Told::Ready | Told::Down { .. } | Told::Pass { .. }) {
            return;
        }
        loop {
            let mut line = String::new();
            program.from.read_line(&mut line).expect("it speaks");
            let said: Said = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
            let more = matches!(said, Said::Alloc { .. } | Said::Planned { .. } | Said::Annotate { .. });
            self.outbox.push_back(said);
            if !more {
                break;
            }
        }
    }

    /// Reads one message; false if there is none.
    pub fn read(&mut self) -> bool {
        let Some(told) = self.inbox.pop_front() else { return false };
        // As it would come through a pipe.
        let text = serde_json::to_string(&told).expect("it writes");
        let told: Told = serde_json::from_str(&text).expect("it reads");
        if self.is_program() {
            self.through_pipes(&told);
            return true;
        }
        if let Told::Pass { now } = told {
            self.clock = now;
        }
        self.take(self.clock, told);
        true
    }

    fn take(&mut self, now: Timestamp, told: Told) {
        if let Told::Acquire { settings, members, up, epoch, .. } = told {
            let mut scheduler = Scheduler::new(*settings);
            let (graph, properties) = (self.graph.clone(), Arc::new(Properties::new()));
            scheduler.handle(now, Input::Acquire { graph, properties, members, up, epoch }, &mut Vec::new());
            self.scheduler = Some(scheduler);
            return;
        }
        let mut out = Vec::new();
        let scheduler = self.scheduler.as_mut().expect("acquire comes first");
        // Of one that it has given back after a refusal it knows nothing.
        let holds = match &told {
            Told::Free { job, .. } | Told::Refused { job, .. } => scheduler.running().iter().any(|r| r.job.id == *job),
            _ => false,
        };
        let mut handle = |input| scheduler.handle(now, input, &mut out);
        match told {
            Told::Acquire { .. } | Told::Windows { .. } | Told::End => {}
            Told::Running { job, shares, freed, started } => {
                let selection = Arc::new(selection_of(&shares));
                let job = request_of(*job);
                handle(Input::Hello(Box::new(HelloJob { job, selection, freed, started, overruns: 0 })));
            }
            Told::Ready => self.outbox.push_back(Said::Ready),
            Told::Up { targets, epoch } => handle(Input::Up { targets, epoch }),
            Told::Down { targets, epoch } => handle(Input::Down { targets, epoch }),
            Told::Members { targets } => handle(Input::Members(targets)),
            Told::Alloc(job) => handle(Input::Alloc(request_of(*job))),
            Told::Cancel { job } => handle(Input::Cancel(job)),
            Told::Free { job, targets, last } => {
                let freed = if last { Freed::Rest } else { Freed::Targets(targets) };
                if holds {
                    handle(Input::Free { job, freed, last });
                }
            }
            Told::Prioritize { jobs } => handle(Input::Prioritize(jobs)),
            Told::Limit { job, limit } => {
                handle(Input::Expiration { job, limit: limit.unwrap_or(Duration::INFINITE) });
            }
            Told::Refused { job, .. } => handle(Input::Free { job, freed: Freed::Rest, last: true }),
            Told::Pass { .. } => scheduler.handle(now, Input::Pass { budget: usize::MAX }, &mut out),
        }
        let wakeup = scheduler.next_wakeup();
        for answer in out {
            self.outbox.extend(said(answer, wakeup));
        }
    }

    /// The jobs that wait here.
    pub fn waiting(&self) -> BTreeSet<JobId> {
        self.scheduler.iter().flat_map(Scheduler::waiting).map(|w| w.job.id).collect()
    }

    /// The jobs that hold something here, and what.
    pub fn running(&self) -> Vec<(JobId, TargetSet)> {
        let running = self.scheduler.iter().flat_map(|s| s.running());
        running.map(|run| (run.job.id, &run.selection.target_set() - &run.freed)).collect()
    }

    /// The jobs that one more pass would start.
    pub fn would_start(&self, now: Timestamp) -> Vec<JobId> {
        let Some(mut copy) = self.scheduler.clone() else { return Vec::new() };
        let mut out = Vec::new();
        copy.handle(now, Input::Prioritize(Vec::new()), &mut out);
        copy.handle(now, Input::Pass { budget: usize::MAX }, &mut out);
        out.iter().filter_map(|o| if let Output::Alloc { job, .. } = o { Some(*job) } else { None }).collect()
    }
}

fn said(answer: Output, wakeup: Option<Timestamp>) -> Option<Said> {
    Some(match answer {
        Output::Alloc { job, selection, epoch } => Said::Alloc { job, shares: shares_of(&selection), epoch },
        Output::Annotate { job, reason } => Said::Annotate { job, reason: reason.to_string() },
        Output::Deny { job, reason } => Said::Deny { job, reason: reason.to_string() },
        Output::PlannedStart { job, at } => Said::Planned { job, at },
        Output::DownAck { targets, epoch } => Said::DownAck { targets, epoch },
        Output::PassEnded { end, .. } => {
            assert_eq!(end, PassEnd::Done);
            Said::Done { wakeup }
        }
        Output::Cancelled { .. } | Output::PoolPlans { .. } => return None,
    })
}

fn request_of(job: JobInfo) -> JobRequest {
    let count = |least: u64, most: Option<u64>| match most {
        Some(most) if most == least => Count::fixed(least),
        most => Count::range(least, most, Step::Add(1)).expect("a count"),
    };
    let amount = |cores, gpus| Amount { cores, gpus };
    let shape = match job.request {
        RequestInfo::Whole { least, most, cores, gpus, .. } => {
            Shape::Whole { nodes: count(least, most), at_least: amount(cores, gpus), slots_per_node: 1 }
        }
        RequestInfo::Slots { least, most, cores, gpus, .. } => {
            Shape::Slots { slots: count(least, most), slot: amount(cores, gpus) }
        }
        RequestInfo::Nodes { least, most, slots, cores, gpus, .. } => {
            Shape::Nodes { nodes: count(least, most), slots: Count::fixed(slots), slot: amount(cores, gpus) }
        }
    };
    JobRequest {
        id: job.job,
        priority: job.priority,
        submitted: job.submitted,
        limit: job.limit.unwrap_or(Duration::INFINITE),
        request: Arc::new(Request { shape, constraint: None, shared: Default::default() }),
    }
}

fn selection_of(shares: &[ShareInfo]) -> Selection {
    let units = |text: &Option<String>| {
        let ids = sluice::formats::idset::Idset::parse(text.as_deref().unwrap_or_default()).expect("an idset");
        ids.iter().collect()
    };
    let share = |share: &ShareInfo| Share {
        target: share.target,
        extent: match (&share.cores, &share.gpus) {
            (None, None) => Extent::Whole,
            (cores, gpus) => Extent::Part(Box::new(Part { cores: units(cores), gpus: units(gpus) })),
        },
    };
    Selection { shares: shares.iter().map(share).collect(), nslots: shares.len() as u32, pools: Vec::new() }
}
