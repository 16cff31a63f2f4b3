//! The messages to and from a scheduler in another process, as JSON: one object a line, its kind under `type`.
//!
//! Decides the words of the protocol; docs/external-scheduler.md describes each with an example. They are those of
//! [`Input`](super::Input) and [`Output`](super::Output), told so that nothing has to be known about graphs: targets have
//! numbers, requests say on which targets they may run. Instants and lengths are whole microseconds; what has no end is
//! missing. Reads and writes nothing.

use crate::base::{Duration, Epoch, JobId, Priority, TargetId, TargetSet, Timestamp};
use crate::config::SchedulerSettings;
use crate::formats::idset::Idset;
use crate::graph::{Graph, Properties};
use crate::matcher::{Extent, Part, Request, Selection, Shape, Share, Units};
use serde::{Deserialize, Serialize};

/// The version of the protocol.
pub const WIRE_VERSION: u32 = 1;

/// Something told to a scheduler in another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Told {
    /// The first message.
    Acquire {
        /// Of the protocol.
        version: u32,
        /// Which queue it schedules.
        queue: String,
        /// How the queue is configured; it need not heed it.
        settings: Box<SchedulerSettings>,
        /// All targets of the machine.
        targets: Vec<TargetInfo>,
        /// Those of the queue.
        #[serde(with = "ids")]
        members: TargetSet,
        /// Those that may take work.
        #[serde(with = "ids")]
        up: TargetSet,
        /// To be repeated in grants until a later one comes.
        epoch: Epoch,
    },
    /// A job that holds resources already.
    Running {
        /// The job.
        #[serde(flatten)]
        job: Box<JobInfo>,
        /// What it was given.
        shares: Vec<ShareInfo>,
        /// What of it has been freed.
        #[serde(with = "ids")]
        freed: TargetSet,
        /// When it started.
        started: Timestamp,
    },
    /// All that is running and waiting has been told; answered by [`Said::Ready`].
    Ready,
    /// Targets may take work.
    Up {
        /// Which.
        #[serde(with = "ids")]
        targets: TargetSet,
        /// The newest.
        epoch: Epoch,
    },
    /// Targets take no new work; answered by [`Said::DownAck`].
    Down {
        /// Which.
        #[serde(with = "ids")]
        targets: TargetSet,
        /// The newest.
        epoch: Epoch,
    },
    /// The queue covers other targets.
    Members {
        /// All of them.
        #[serde(with = "ids")]
        targets: TargetSet,
    },
    /// When the queue will have which targets. Those in none are not bounded.
    Windows {
        /// By sets of targets.
        windows: Vec<WindowInfo>,
    },
    /// A job wants resources.
    Alloc(Box<JobInfo>),
    /// A job does not want resources any more.
    Cancel {
        /// Which.
        job: JobId,
    },
    /// A job has released targets.
    Free {
        /// Which.
        job: JobId,
        /// What it released.
        #[serde(with = "ids")]
        targets: TargetSet,
        /// Whether it holds nothing any more.
        last: bool,
    },
    /// Jobs have other priorities.
    Prioritize {
        /// Which, and what.
        jobs: Vec<(JobId, Priority)>,
    },
    /// A job has another time limit, from its start.
    Limit {
        /// Which.
        job: JobId,
        /// Its limit; missing: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Duration>,
    },
    /// A grant does not count: what it was to give is free here, and the job waits only if it is told of again.
    Refused {
        /// Of which job.
        job: JobId,
        /// Why.
        reason: String,
    },
    /// Schedule; answered by grants and then [`Said::Done`].
    Pass {
        /// What time it is.
        now: Timestamp,
    },
    /// The last message; what is said after it does not count.
    End,
}

/// Something that a scheduler in another process says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Said {
    /// It knows all that it was told and can schedule.
    Ready,
    /// A job gets resources, now.
    Alloc {
        /// Which.
        job: JobId,
        /// What it gets.
        shares: Vec<ShareInfo>,
        /// The newest that it was told with acquire, up or down.
        epoch: Epoch,
    },
    /// A job can never run here.
    Deny {
        /// Which.
        job: JobId,
        /// Why.
        reason: String,
    },
    /// What there is to say about a job that waits.
    Annotate {
        /// Which.
        job: JobId,
        /// Why it waits.
        reason: String,
    },
    /// When a job is planned to start; missing: there is no plan any more.
    Planned {
        /// Which.
        job: JobId,
        /// When.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
    },
    /// These targets take no new work here.
    DownAck {
        /// Which.
        #[serde(with = "ids")]
        targets: TargetSet,
        /// The stamp of the down.
        epoch: Epoch,
    },
    /// A pass is over.
    Done {
        /// When another is wanted even if nothing happens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wakeup: Option<Timestamp>,
    },
}

/// A target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetInfo {
    /// Its number.
    pub id: TargetId,
    /// Its host.
    pub host: String,
    /// How many cores it has.
    pub cores: u32,
    /// How many gpus it has.
    pub gpus: u32,
    /// Its properties.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<String>,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Its id; the last key of the order.
    pub job: JobId,
    /// Higher first.
    pub priority: Priority,
    /// Second key of the order.
    pub submitted: Timestamp,
    /// Time limit; missing: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Duration>,
    /// What it asks for.
    pub request: RequestInfo,
}

/// What a job asks for. Counts are as in jobspecs: a number, or a range of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "kebab-case")]
pub enum RequestInfo {
    /// Whole targets, each with at least this.
    Whole {
        /// The fewest.
        least: u64,
        /// The most; missing: any number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
        /// How many cores each has.
        cores: u32,
        /// How many gpus each has.
        gpus: u32,
        /// On which targets; missing: on any.
        #[serde(default, with = "some_ids", skip_serializing_if = "Option::is_none")]
        on: Option<TargetSet>,
    },
    /// Slots, anywhere. Each is in one target.
    Slots {
        /// The fewest.
        least: u64,
        /// The most; missing: any number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
        /// Cores of a slot.
        cores: u32,
        /// Gpus of a slot.
        gpus: u32,
        /// On which targets; missing: on any.
        #[serde(default, with = "some_ids", skip_serializing_if = "Option::is_none")]
        on: Option<TargetSet>,
    },
    /// So many targets with so many slots on each.
    Nodes {
        /// The fewest targets.
        least: u64,
        /// The most; missing: any number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
        /// The fewest slots on each.
        slots: u64,
        /// Cores of a slot.
        cores: u32,
        /// Gpus of a slot.
        gpus: u32,
        /// On which targets; missing: on any.
        #[serde(default, with = "some_ids", skip_serializing_if = "Option::is_none")]
        on: Option<TargetSet>,
    },
}

/// What is given of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareInfo {
    /// Which target.
    pub target: TargetId,
    /// Which of its cores, by number from 0; with `gpus` missing too: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<String>,
    /// Which of its gpus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<String>,
}

/// When targets are the queue's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowInfo {
    /// Which targets.
    #[serde(with = "ids")]
    pub targets: TargetSet,
    /// From (missing: already) until (missing: no end in sight), ascending.
    pub windows: Vec<(Option<Timestamp>, Option<Timestamp>)>,
}

/// All targets of a machine.
pub fn targets_of(graph: &Graph, properties: &Properties) -> Vec<TargetInfo> {
    let info = |id: &TargetId| {
        let target = graph.target(*id)?;
        Some(TargetInfo {
            id: *id,
            host: target.host.to_string(),
            cores: target.cores(),
            gpus: target.gpus(),
            properties: properties.of(*id).map(str::to_owned).collect(),
        })
    };
    graph.targets_in_order().iter().filter_map(info).collect()
}

/// A request, told to somebody who knows no graph; `None` if it takes of what no target has.
pub fn request_of(request: &Request, graph: &Graph, properties: &Properties) -> Option<RequestInfo> {
    if !request.shared.is_empty() {
        return None;
    }
    let on = match &request.constraint {
        Some(constraint) => Some(graph.resolve(properties, constraint).ok()?),
        None => None,
    };
    Some(match &request.shape {
        Shape::Whole { nodes, at_least, slots_per_node: _ } => {
            RequestInfo::Whole { least: nodes.min(), most: nodes.max(), cores: at_least.cores, gpus: at_least.gpus, on }
        }
        Shape::Slots { slots, slot } => {
            RequestInfo::Slots { least: slots.min(), most: slots.max(), cores: slot.cores, gpus: slot.gpus, on }
        }
        Shape::Nodes { nodes, slots, slot } => RequestInfo::Nodes {
            least: nodes.min(),
            most: nodes.max(),
            slots: slots.min(),
            cores: slot.cores,
            gpus: slot.gpus,
            on,
        },
    })
}

/// What is given, told.
pub fn shares_of(selection: &Selection) -> Vec<ShareInfo> {
    let ids = |units: &Units| units.iter().collect::<Vec<u32>>();
    let text = |units: &Units| ids(units).into_iter().fold(Idset::new(), with).to_string();
    let share = |share: &Share| match &share.extent {
        Extent::Whole => ShareInfo { target: share.target, cores: None, gpus: None },
        Extent::Part(part) => {
            ShareInfo { target: share.target, cores: Some(text(&part.cores)), gpus: Some(text(&part.gpus)) }
        }
    };
    selection.shares.iter().map(share).collect()
}

fn with(mut set: Idset, id: u32) -> Idset {
    set.insert(id);
    set
}

/// What somebody said is given to a job, if it is what the job asks for.
///
/// # Errors
/// What it is not.
pub fn selection_of(
    shares: &[ShareInfo],
    request: &Request,
    graph: &Graph,
    properties: &Properties,
) -> Result<Selection, String> {
    let asked = request_of(request, graph, properties).ok_or("it takes of shared pools")?;
    let mut given = Vec::new();
    for share in shares {
        let target = graph.target(share.target).ok_or_else(|| format!("there is no target {}", share.target))?;
        let units = |text: &Option<String>, size: u32| {
            let ids = Idset::parse(text.as_deref().unwrap_or_default()).map_err(|e| e.to_string())?;
            match ids.last().filter(|last| *last >= size) {
                Some(last) => Err(format!("target {} has no number {last}", share.target)),
                None => Ok(ids.iter().collect::<Units>()),
            }
        };
        let extent = match (&share.cores, &share.gpus) {
            (None, None) => Extent::Whole,
            (cores, gpus) => {
                Extent::Part(Box::new(Part { cores: units(cores, target.cores())?, gpus: units(gpus, target.gpus())? }))
            }
        };
        given.push(Share { target: share.target, extent });
    }
    given.sort_by_key(|share| share.target);
    if given.is_empty() || given.windows(2).any(|two| two[0].target == two[1].target) {
        return Err("it gives nothing, or a target twice".to_owned());
    }
    let nslots = fits(&asked, request, &given, graph)?;
    Ok(Selection { shares: given, nslots, pools: Vec::new() })
}

/// How many slots are given, if that is what was asked.
fn fits(asked: &RequestInfo, request: &Request, given: &[Share], graph: &Graph) -> Result<u32, String> {
    let (RequestInfo::Whole { cores, gpus, on, .. }
    | RequestInfo::Slots { cores, gpus, on, .. }
    | RequestInfo::Nodes { cores, gpus, on, .. }) = asked;
    if let Some(share) = given.iter().find(|s| on.as_ref().is_some_and(|on| !on.contains(s.target))) {
        return Err(format!("the job does not run on target {}", share.target));
    }
    let whole = |share: &Share| share.extent == Extent::Whole;
    // How often cores and gpus of one slot are in what is given of a target.
    let slots_in = |share: &Share| {
        let (has_cores, has_gpus) = match &share.extent {
            Extent::Whole => graph.target(share.target).map_or((0, 0), |t| (t.cores(), t.gpus())),
            Extent::Part(part) => (part.cores.len(), part.gpus.len()),
        };
        let times = |has: u32, one: u32| has.checked_div(one).unwrap_or(u32::MAX);
        times(has_cores, *cores).min(times(has_gpus, *gpus))
    };
    let counts = |what: &str, count: &crate::formats::count::Count, n: u64| match count.contains(n) {
        true => Ok(()),
        false => Err(format!("it gives {n} {what}, and {} are asked for", count.to_json())),
    };
    match &request.shape {
        Shape::Whole { nodes, slots_per_node, .. } => {
            if let Some(share) = given.iter().find(|share| !whole(share) || slots_in(share) == 0) {
                return Err(format!("target {} is not given whole, or is too small", share.target));
            }
            counts("targets", nodes, given.len() as u64)?;
            Ok((given.len() as u32).saturating_mul(*slots_per_node))
        }
        Shape::Slots { slots, .. } => {
            let sum: u64 = given.iter().map(|share| u64::from(slots_in(share))).sum();
            if let Some(share) = given.iter().find(|share| slots_in(share) == 0) {
                return Err(format!("no slot fits in what is given of target {}", share.target));
            }
            // Whole targets may have room for more.
            let most = slots.largest_at_most(sum).filter(|most| *most == sum || given.iter().any(whole));
            let n = most.ok_or_else(|| format!("it gives {sum} slots, and {} are asked for", slots.to_json()))?;
            Ok(u32::try_from(n).unwrap_or(u32::MAX))
        }
        Shape::Nodes { nodes, slots, .. } => {
            counts("targets", nodes, given.len() as u64)?;
            let each = given.iter().map(|share| {
                let n = u64::from(slots_in(share));
                let most = slots.largest_at_most(n).filter(|most| *most == n || whole(share));
                most.ok_or_else(|| {
                    format!("it gives {n} slots of target {}, and {} are asked for", share.target, slots.to_json())
                })
            });
            each.sum::<Result<u64, String>>().map(|n| u32::try_from(n).unwrap_or(u32::MAX))
        }
    }
}

/// Sets of targets as idsets.
mod ids {
    use super::{Idset, TargetId, TargetSet};
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(set: &TargetSet, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&set.iter().fold(Idset::new(), |ids, target| super::with(ids, target.0)))
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<TargetSet, D::Error> {
        let text = String::deserialize(from)?;
        let ids = Idset::parse(&text).map_err(serde::de::Error::custom)?;
        Ok(ids.iter().map(TargetId).collect())
    }
}

/// The same where there may be none.
mod some_ids {
    use super::TargetSet;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Ids(#[serde(with = "super::ids")] TargetSet);

    pub fn serialize<S: Serializer>(set: &Option<TargetSet>, to: S) -> Result<S::Ok, S::Error> {
        set.clone().map(Ids).serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<TargetSet>, D::Error> {
        Ok(Option::<Ids>::deserialize(from)?.map(|ids| ids.0))
    }
}
