//! Policy tables (RFC 33), global or of a queue: what a table says, and what holds when it lies over another.

use super::reader::{Item, Section};
use super::{Horizon, JobSize, MatchPolicy, Overlap, PolicyConfig, QueuePolicy, SchedulerSettings, UserLimits};
use crate::base::Duration;
use serde::{Deserialize, Deserializer, Serialize};
use std::ops::Range;

/// A key that may be absent, or present and lift what lies below (`Some(None)`).
type Lift<T> = Option<Option<T>>;

/// What one policy table says.
#[derive(Default)]
pub(super) struct PolicyPatch {
    /// The default queue, and where it is named.
    pub(super) default_queue: Option<(String, Range<usize>)>,
    /// Where `scheduler` stands.
    pub(super) scheduler_span: Option<Range<usize>>,
    /// The profile that it names, and where.
    pub(super) profile: Option<(String, Range<usize>)>,
    default_duration: Lift<Duration>,
    duration: Lift<Duration>,
    max: SizePatch,
    min: SizePatch,
    allow_user: Option<Vec<String>>,
    allow_group: Option<Vec<String>>,
    priority_boost: Option<i32>,
    user: UserPatch,
    scheduler: SchedulerPatch,
}

#[derive(Default)]
struct SizePatch {
    nnodes: Lift<u64>,
    ncores: Lift<u64>,
    ngpus: Lift<u64>,
}

#[derive(Default)]
struct UserPatch {
    running_jobs: Lift<u64>,
    running_nodes: Lift<u64>,
    pending_jobs: Lift<u64>,
}

/// What a table of scheduler settings says.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SchedulerPatch {
    queue_policy: Option<QueuePolicy>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lift_or_value")]
    provider: Lift<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "lift_or_value")]
    queue_depth: Lift<u32>,
    reservation_depth: Option<u32>,
    match_policy: Option<MatchPolicy>,
    precedence: Option<i32>,
    overlap: Option<Overlap>,
    horizon: Option<Horizon>,
    overrun_slack: Option<Duration>,
    release_margin: Option<Duration>,
}

/// A key that is there in JSON: `null` lifts. One that is absent is not asked for here.
fn lift_or_value<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Lift<T>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// Takes a key that is a table and reads it.
fn table<'r, 'a>(parent: &mut Section<'r, 'a>, name: &'static str, read: impl FnOnce(&mut Section<'r, 'a>)) {
    if let Some(mut section) = parent.take(name).and_then(|item| item.section()) {
        read(&mut section);
        section.finish();
    }
}

/// A limit or default for time, where zero and infinity mean that there is none.
fn limit(item: &Item<'_, '_>) -> Lift<Duration> {
    let duration = item.duration()?;
    Some(Some(duration).filter(|&duration| duration > Duration::ZERO && !duration.is_infinite()))
}

impl PolicyPatch {
    /// Reads the table that `item` is.
    pub(super) fn read(item: &Item<'_, '_>) -> Self {
        let mut patch = Self::default();
        let Some(mut policy) = item.section() else { return patch };
        table(&mut policy, "jobspec", |jobspec| {
            table(jobspec, "defaults", |defaults| table(defaults, "system", |system| patch.read_defaults(system)));
        });
        table(&mut policy, "limits", |limits| {
            patch.duration = limits.take("duration").and_then(|item| limit(&item));
            table(limits, "job-size", |size| {
                table(size, "max", |max| patch.max = SizePatch::read(max));
                table(size, "min", |min| patch.min = SizePatch::read(min));
            });
            table(limits, "user", |user| patch.user = UserPatch::read(user));
        });
        table(&mut policy, "access", |access| {
            let mut names = |name| access.take(name).and_then(|item| item.strings(|_| Ok(())));
            (patch.allow_user, patch.allow_group) = (names("allow-user"), names("allow-group"));
        });
        patch.priority_boost = policy
            .take("priority-boost")
            .and_then(|item| item.integer(-MOST_BOOST..=MOST_BOOST))
            .map(|boost| boost as i32);
        patch.scheduler_span = policy.take("scheduler").map(|item| item.key_span);
        table(&mut policy, "scheduler", |scheduler| {
            patch.profile = scheduler.take("profile").and_then(|item| Some((item.string()?.to_owned(), item.span())));
            patch.scheduler = SchedulerPatch::read(scheduler);
        });
        policy.finish();
        patch
    }

    fn read_defaults(&mut self, system: &mut Section<'_, '_>) {
        self.default_duration = system.take("duration").and_then(|item| limit(&item));
        self.default_queue = system.take("queue").and_then(|item| Some((item.string()?.to_owned(), item.span())));
    }

    /// What holds where this table lies over a profile, and that over `below`. Lists replace lists.
    pub(super) fn over(&self, below: &PolicyConfig, profile: Option<&SchedulerPatch>) -> PolicyConfig {
        let mut policy = below.clone();
        set(&mut policy.defaults.duration, self.default_duration);
        set(&mut policy.limits.duration, self.duration);
        self.max.apply(&mut policy.limits.job_size_max);
        self.min.apply(&mut policy.limits.job_size_min);
        set(&mut policy.access.allow_user, self.allow_user.clone());
        set(&mut policy.access.allow_group, self.allow_group.clone());
        set(&mut policy.priority_boost, self.priority_boost);
        self.user.apply(&mut policy.limits.user);
        if let Some(profile) = profile {
            profile.apply(&mut policy.scheduler);
        }
        self.scheduler.apply(&mut policy.scheduler);
        policy
    }
}

/// So far a queue may raise or lower the priority of its jobs.
pub(super) const MOST_BOOST: i64 = 1_000_000_000;

fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

/// A number that bounds something, where -1 means that there is no bound.
fn bound(section: &mut Section<'_, '_>, name: &'static str) -> Lift<u64> {
    let bound = section.take(name)?.integer(-1..=i64::from(u32::MAX))?;
    Some(u64::try_from(bound).ok())
}

impl UserPatch {
    fn read(user: &mut Section<'_, '_>) -> Self {
        Self {
            running_jobs: bound(user, "max-running-jobs"),
            running_nodes: bound(user, "max-running-nodes"),
            pending_jobs: bound(user, "max-pending-jobs"),
        }
    }

    fn apply(&self, limits: &mut UserLimits) {
        set(&mut limits.max_running_jobs, self.running_jobs);
        set(&mut limits.max_running_nodes, self.running_nodes);
        set(&mut limits.max_pending_jobs, self.pending_jobs);
    }
}

impl SizePatch {
    fn read(size: &mut Section<'_, '_>) -> Self {
        Self { nnodes: bound(size, "nnodes"), ncores: bound(size, "ncores"), ngpus: bound(size, "ngpus") }
    }

    fn apply(&self, size: &mut JobSize) {
        set(&mut size.nnodes, self.nnodes);
        set(&mut size.ncores, self.ncores);
        set(&mut size.ngpus, self.ngpus);
    }
}

impl SchedulerPatch {
    pub(super) fn read(scheduler: &mut Section<'_, '_>) -> Self {
        let depth = |item: Item<'_, '_>| item.integer(1..=i64::from(u32::MAX)).map(|depth| depth as u32);
        let mut patch = Self {
            provider: scheduler
                .take("provider")
                .and_then(|item| item.string().map(|name| (name != BUILT_IN_PROVIDER).then(|| name.to_owned()))),
            queue_policy: scheduler.take("queue-policy").and_then(|item| item.word(QueuePolicy::NAMES)),
            queue_depth: scheduler.take("queue-depth").and_then(|item| match item.is_string() {
                true => item.word::<Unlimited>(&["unlimited"]).map(|Unlimited| None),
                false => depth(item).map(Some),
            }),
            reservation_depth: scheduler.take("reservation-depth").and_then(depth),
            match_policy: scheduler.take("match-policy").and_then(|item| item.word(MatchPolicy::NAMES)),
            precedence: None,
            overlap: scheduler.take("overlap").and_then(|item| item.word(Overlap::NAMES)),
            horizon: scheduler.take("horizon").and_then(|item| item.word(Horizon::NAMES)),
            overrun_slack: None,
            release_margin: scheduler.take("release-margin").and_then(|item| finite(&item)),
        };
        patch.precedence = scheduler
            .take("precedence")
            .and_then(|item| item.integer(i64::from(i32::MIN)..=i64::from(i32::MAX)))
            .map(|precedence| precedence as i32);
        patch.overrun_slack = scheduler.take("overrun-slack").and_then(|item| {
            let slack = finite(&item)?;
            if slack == Duration::ZERO {
                item.error("expected more than zero, found zero");
                return None;
            }
            Some(slack)
        });
        patch
    }

    /// This table over another.
    pub(super) fn over(&self, below: &Self) -> Self {
        Self {
            queue_policy: self.queue_policy.or(below.queue_policy),
            provider: self.provider.clone().or_else(|| below.provider.clone()),
            queue_depth: self.queue_depth.or(below.queue_depth),
            reservation_depth: self.reservation_depth.or(below.reservation_depth),
            match_policy: self.match_policy.or(below.match_policy),
            precedence: self.precedence.or(below.precedence),
            overlap: self.overlap.or(below.overlap),
            horizon: self.horizon.or(below.horizon),
            overrun_slack: self.overrun_slack.or(below.overrun_slack),
            release_margin: self.release_margin.or(below.release_margin),
        }
    }

    pub(super) fn apply(&self, settings: &mut SchedulerSettings) {
        if let Some(provider) = &self.provider {
            provider.clone_into(&mut settings.provider);
        }
        set(&mut settings.queue_policy, self.queue_policy);
        set(&mut settings.queue_depth, self.queue_depth);
        set(&mut settings.reservation_depth, self.reservation_depth);
        set(&mut settings.match_policy, self.match_policy);
        set(&mut settings.precedence, self.precedence);
        set(&mut settings.overlap, self.overlap);
        set(&mut settings.horizon, self.horizon);
        set(&mut settings.overrun_slack, self.overrun_slack);
        set(&mut settings.release_margin, self.release_margin);
    }
}

/// A duration that must end.
fn finite(item: &Item<'_, '_>) -> Option<Duration> {
    let duration = item.duration()?;
    if duration.is_infinite() {
        item.error("expected a finite duration, found infinity");
        return None;
    }
    Some(duration)
}

/// The provider that is compiled in.
const BUILT_IN_PROVIDER: &str = "builtin";

/// The word for a depth without bound.
struct Unlimited;

impl std::str::FromStr for Unlimited {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "unlimited" { Ok(Self) } else { Err(()) }
    }
}
