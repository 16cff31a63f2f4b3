//! What a queue lets in: limits, access, and the defaults that it gives to jobs (RFC 33 `policy`).
//!
//! Decides about a submission from the job's request alone. Whether the queue's targets can ever serve it is the
//! scheduler's question.
//!
//! `access.allow-user` names users. A submission carries a numeric user id only, since the core looks nothing up; an
//! entry therefore admits a user when it is the decimal form of the id. A driver that knows names and groups resolves
//! them before; until then `allow-group` admits nobody.

use super::event::Denial;
use crate::base::Duration;
use crate::config::{JobSize, PolicyConfig};
use crate::matcher::{Request, Shape};

/// The rules of one queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Rules {
    /// The longest time limit; `None`: any.
    pub duration: Option<Duration>,
    pub max: JobSize,
    pub min: JobSize,
    /// Who may submit; `None`: everybody.
    pub users: Option<Vec<String>>,
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
    fn by(request: &Request) -> Self {
        let each = Self::in_one_place(request);
        let times = |n: u64| n.saturating_mul(request.shared.places());
        Self { nnodes: times(each.nnodes), ncores: times(each.ncores), ngpus: times(each.ngpus) }
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

impl Rules {
    /// The rules that a queue's policy sets.
    pub fn of(policy: &PolicyConfig) -> Self {
        let access = &policy.access;
        let open = access.allow_user.is_empty() && access.allow_group.is_empty();
        Self {
            duration: policy.limits.duration,
            max: policy.limits.job_size_max,
            min: policy.limits.job_size_min,
            users: (!open).then(|| access.allow_user.clone()),
            default_duration: policy.defaults.duration,
        }
    }

    /// Whether a job may come in.
    ///
    /// # Errors
    /// The first rule that it breaks: access, then duration, then sizes.
    pub fn admit(&self, userid: u32, limit: Duration, request: &Request) -> Result<(), Denial> {
        if let Some(users) = &self.users
            && !users.iter().any(|u| u.parse() == Ok(userid))
        {
            return Err(denial("access.allow-user", format!("user {userid}"), users.join(", ")));
        }
        if let Some(longest) = self.duration
            && limit > longest
        {
            return Err(denial("limits.duration", limit.to_string(), format!("at most {longest}")));
        }
        if self.max == JobSize::default() && self.min == JobSize::default() {
            return Ok(());
        }
        let asked = Asked::by(request);
        let sizes = [
            ("nnodes", asked.nnodes, self.max.nnodes, self.min.nnodes),
            ("ncores", asked.ncores, self.max.ncores, self.min.ncores),
            ("ngpus", asked.ngpus, self.max.ngpus, self.min.ngpus),
        ];
        for (name, asked, max, min) in sizes {
            if let Some(max) = max.filter(|max| asked > *max) {
                return Err(denial(
                    &format!("limits.job-size.max.{name}"),
                    asked.to_string(),
                    format!("at most {max}"),
                ));
            }
            if let Some(min) = min.filter(|min| asked < *min) {
                return Err(denial(
                    &format!("limits.job-size.min.{name}"),
                    asked.to_string(),
                    format!("at least {min}"),
                ));
            }
        }
        Ok(())
    }
}

fn denial(limit: &str, asked: String, allowed: String) -> Denial {
    Denial::Limit { limit: limit.to_owned(), asked, allowed }
}
