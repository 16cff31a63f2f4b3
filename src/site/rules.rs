//! What a queue lets in: limits, access, and the defaults that it gives to jobs (RFC 33 `policy`).
//!
//! Decides about a submission from what it says alone: whether the queue's targets can ever serve it is the scheduler's
//! question, and what its user has in the queue already that of [`shares`](super::shares). Who is called what, and who
//! is in which group, stands in the configuration: a submission carries the number of its user.

use super::event::Denial;
use crate::base::Duration;
use crate::config::layers::key;
use crate::config::{Access, Config, JobSize, People, PolicyConfig};
use crate::formats::duration;
use crate::graph::Graph;
use crate::matcher::{Request, Shape, Within};

/// The rules of one queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Rules {
    /// The longest time limit; `None`: any.
    pub duration: Option<Duration>,
    pub max: JobSize,
    pub min: JobSize,
    /// Who may submit.
    pub access: Access,
    /// The time limit of a job that names none.
    pub default_duration: Option<Duration>,
}

/// The least that a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Asked {
    nnodes: u64,
    ncores: u64,
    ngpus: u64,
}

impl Asked {
    /// What a request asks for; of vertices that it wants for itself all nodes inside, as many as it gets at least.
    fn by(request: &Request, graph: &Graph) -> Self {
        let each = Self::in_one_place(request);
        let times = |n: u64| n.saturating_mul(request.shared.places());
        let all = alone_in(request).map(|within| sum_of(within, sizes_of(within, graph).into_iter()));
        Self { nnodes: all.unwrap_or(times(each.nnodes)), ncores: times(each.ncores), ngpus: times(each.ngpus) }
    }

    fn in_one_place(request: &Request) -> Self {
        match &request.shape {
            Shape::Whole { nodes, at_least, .. } => {
                let n = nodes.min();
                Self { nnodes: n, ncores: n * u64::from(at_least.cores), ngpus: n * u64::from(at_least.gpus) }
            }
            Shape::Nodes { nodes, slots, slot } => {
                let (n, each) = (nodes.min(), slots.min());
                let in_all = n.saturating_mul(each);
                Self {
                    nnodes: n,
                    ncores: in_all.saturating_mul(u64::from(slot.cores)),
                    ngpus: in_all.saturating_mul(u64::from(slot.gpus)),
                }
            }
            Shape::Slots { slots, slot } => {
                let n = slots.min();
                Self { nnodes: 0, ncores: n * u64::from(slot.cores), ngpus: n * u64::from(slot.gpus) }
            }
        }
    }
}

/// The most nodes that a request may get: of slots anywhere a node each, of vertices that it wants for itself, as racks,
/// all inside. `None`: there is no bound.
pub(super) fn most_nodes(request: &Request, graph: &Graph) -> Option<u64> {
    if let Some(within) = alone_in(request) {
        return Some(sum_of(within, sizes_of(within, graph).into_iter().rev()));
    }
    let count = match &request.shape {
        Shape::Whole { nodes, .. } | Shape::Nodes { nodes, .. } => nodes,
        Shape::Slots { slots, .. } => slots,
    };
    Some(count.max()?.saturating_mul(request.shared.places()))
}

/// Where a job wants all that is inside.
fn alone_in(request: &Request) -> Option<&Within> {
    request.shared.within.as_ref().filter(|within| within.exclusive)
}

/// How many nodes are in each of the vertices where a job may be, ascending.
fn sizes_of(within: &Within, graph: &Graph) -> Vec<u64> {
    let vertices = graph.kind_id(&within.kind).map_or(&[][..], |kind| graph.of_kind(kind));
    let mut sizes: Vec<u64> = vertices.iter().map(|v| graph.targets_in(*v).len() as u64).filter(|n| *n > 0).collect();
    sizes.sort_unstable();
    sizes
}

fn sum_of(within: &Within, sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.take(usize::try_from(within.count).unwrap_or(usize::MAX)).sum()
}

impl Rules {
    /// The rules that a queue's policy sets.
    pub fn of(policy: &PolicyConfig) -> Self {
        Self {
            duration: policy.limits.duration,
            max: policy.limits.job_size_max,
            min: policy.limits.job_size_min,
            access: policy.access.clone(),
            default_duration: policy.defaults.duration,
        }
    }

    /// Whether a job may come in. `at`: the policy, as its keys begin.
    ///
    /// # Errors
    /// The first rule that it breaks: access, then duration, then sizes.
    pub fn admit(
        &self,
        at: &Place<'_>,
        userid: u32,
        limit: Duration,
        request: &Request,
        graph: &Graph,
    ) -> Result<(), Denial> {
        if !self.access.admits(at.people, userid) {
            let (key, queue) = (at.key("access"), at.queue.to_owned());
            let (user, allowed) = (at.people.called(userid), who(&self.access, at.people));
            return Err(Denial::Access { queue, user, key, allowed });
        }
        if let Some(longest) = self.duration
            && limit > longest
        {
            let asked = if limit.is_infinite() { "no limit".to_owned() } else { duration::format(limit) };
            return Err(at.denial("limits.duration", asked, format!("at most {}", duration::format(longest))));
        }
        if self.max == JobSize::default() && self.min == JobSize::default() {
            return Ok(());
        }
        let asked = Asked::by(request, graph);
        let sizes = [
            ("nnodes", asked.nnodes, self.max.nnodes, self.min.nnodes),
            ("ncores", asked.ncores, self.max.ncores, self.min.ncores),
            ("ngpus", asked.ngpus, self.max.ngpus, self.min.ngpus),
        ];
        for (name, asked, max, min) in sizes {
            if let Some(max) = max.filter(|max| asked > *max) {
                let limit = format!("limits.job-size.max.{name}");
                return Err(at.denial(&limit, asked.to_string(), format!("at most {max}")));
            }
            if let Some(min) = min.filter(|min| asked < *min) {
                let limit = format!("limits.job-size.min.{name}");
                return Err(at.denial(&limit, asked.to_string(), format!("at least {min}")));
            }
        }
        Ok(())
    }
}

/// Where rules stand, for messages.
pub(super) struct Place<'a> {
    pub queue: &'a str,
    pub people: &'a People,
    /// Whether the queue has a table of its own.
    pub named: bool,
}

impl<'a> Place<'a> {
    /// The place of a queue in a configuration.
    pub fn of(queue: &'a str, config: &'a Config) -> Self {
        let named = !config.queues.is_empty() || queue != super::state::ANONYMOUS;
        Self { queue, people: &config.people, named }
    }

    /// A key of the policy in full, as `config explain` takes it.
    pub fn key(&self, name: &str) -> String {
        if self.named {
            format!("{}.policy.{name}", key::join(&["queues", self.queue]))
        } else {
            format!("policy.{name}")
        }
    }

    /// A limit that is broken.
    pub fn denial(&self, limit: &str, asked: String, allowed: String) -> Denial {
        Denial::Limit { limit: self.key(limit), asked, allowed }
    }
}

/// Whom an access list lets in; what it names and nobody knows is marked.
fn who(access: &Access, people: &People) -> String {
    let user = |user: &String| match people.number(user) {
        Some(_) => format!("user {user}"),
        None => format!("user {user} (whom [users] has not)"),
    };
    let group = |group: &String| match people.groups.contains_key(group) {
        true => format!("group {group}"),
        false => format!("group {group} (which [groups] has not)"),
    };
    let all: Vec<String> = access.allow_user.iter().map(user).chain(access.allow_group.iter().map(group)).collect();
    all.join(", ")
}
