//! `[site]`: how the site behaves during a replay.

use super::fields::{Item, Source};
use super::time::parse_date_time;
use crate::base::{Duration, Timestamp};
use toml::de::DeValue;

/// `[site]`, with its defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `stopped`: queues that are not started at time 0; all others are.
    pub stopped: Vec<String>,
    /// `on-node-fail`: what becomes of a job on a node that fails.
    pub on_node_fail: OnNodeFail,
    /// `housekeeping`: how long targets are held after a job.
    pub housekeeping: Housekeeping,
    /// `on-preempt`: what jobs do that are signalled to give way.
    pub on_preempt: OnPreempt,
    /// `epoch`: the wall clock at time 0, in seconds since 1970-01-01T00:00:00 of the same wall clock (no time zone, no summer
    /// time). `None`: times have no dates.
    pub epoch: Option<i64>,
    /// `pass`: when schedulers run.
    pub pass: PassRule,
    /// `work-budget`: jobs examined in one call of `schedule`; `None`: no bound.
    pub work_budget: Option<usize>,
    /// `until`: the replay stops at this instant, with what is pending and running then; never: at the end of all work.
    pub until: Timestamp,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            stopped: Vec::new(),
            on_node_fail: OnNodeFail::Fail,
            housekeeping: Housekeeping::default(),
            on_preempt: OnPreempt::default(),
            epoch: None,
            pass: PassRule::Timestamp,
            work_budget: None,
            until: Timestamp::NEVER,
        }
    }
}

/// What becomes of a job when one of its nodes fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnNodeFail {
    /// It fails at once.
    Fail,
    /// It waits again in its queue, with its old submit time.
    Requeue,
    /// It runs on.
    Continue,
}

/// How long targets are held after a job has ended. Each target is released by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Housekeeping {
    /// `duration`: at least this long.
    pub duration: Duration,
    /// `jitter`: and up to this much longer, uniformly, by target.
    pub jitter: Duration,
    /// `stuck`: the share (0 to 1) of targets whose housekeeping hangs.
    pub stuck: f64,
    /// `stuck-for`: how long it hangs, beyond `duration`; infinite: for ever.
    pub stuck_for: Duration,
    /// `seed` of jitter and stuck.
    pub seed: u64,
}

impl Default for Housekeeping {
    fn default() -> Self {
        Housekeeping {
            duration: Duration::ZERO,
            jitter: Duration::ZERO,
            stuck: 0.0,
            stuck_for: Duration::INFINITE,
            seed: 0,
        }
    }
}

/// What jobs do that are signalled to give way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnPreempt {
    /// `heed`: the share (0 to 1) of them that end by themselves; the others run on until they are killed.
    pub heed: f64,
    /// `within`: they end up to so long after the signal, uniformly.
    pub within: Duration,
    /// `seed` of both.
    pub seed: u64,
}

/// When schedulers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassRule {
    /// Once for each distinct instant, after all its events.
    Timestamp,
    /// After every single event.
    Event,
}

pub(super) fn read_site(src: &Source<'_>, item: Option<Item<'_, '_>>) -> Option<Settings> {
    let default = Settings::default();
    let Some(item) = item else { return Some(default) };
    let fields = item.fields("[site]")?;
    if let Some(epoch) = fields.get("epoch") {
        src.epoch.set(read_epoch(&epoch));
    }
    let on_node_fail = fields.get("on-node-fail").map_or(Some(default.on_node_fail), |i| {
        i.word(&[("fail", OnNodeFail::Fail), ("requeue", OnNodeFail::Requeue), ("continue", OnNodeFail::Continue)])
    });
    let pass = fields
        .get("pass")
        .map_or(Some(default.pass), |i| i.word(&[("timestamp", PassRule::Timestamp), ("event", PassRule::Event)]));
    let stopped = fields.get("stopped").map_or(Some(Vec::new()), |i| i.names());
    let housekeeping = fields.get("housekeeping").map_or(Some(default.housekeeping), |i| read_housekeeping(&i));
    let on_preempt = fields.get("on-preempt").map_or(Some(default.on_preempt), |i| read_on_preempt(&i));
    let work_budget = fields.get("work-budget").map(|i| i.integer(1..1 << 32));
    let until = fields.get("until").map_or(Some(Timestamp::NEVER), |i| i.time());
    fields.finish();
    Some(Settings {
        stopped: stopped?,
        on_node_fail: on_node_fail?,
        housekeeping: housekeeping?,
        on_preempt: on_preempt?,
        epoch: src.epoch.get(),
        pass: pass?,
        work_budget: match work_budget {
            Some(budget) => Some(usize::try_from(budget?).unwrap_or(usize::MAX)),
            None => None,
        },
        until: until?,
    })
}

/// A TOML date-time or date without time zone, or the same as a text.
fn read_epoch(item: &Item<'_, '_>) -> Option<i64> {
    let text = match item.value.get_ref() {
        DeValue::Datetime(moment) => moment.to_string(),
        DeValue::String(text) => text.to_string(),
        _ => String::new(),
    };
    let full = if text.contains(['T', 't', ' ']) { text } else { format!("{text} 00:00") };
    parse_date_time(&full).or_else(|| item.wrong("a date, or a date and time, without time zone"))
}

fn read_housekeeping(item: &Item<'_, '_>) -> Option<Housekeeping> {
    let fields = item.fields("housekeeping")?;
    let duration = fields.need("duration").and_then(|i| finite(&i));
    let jitter = fields.get("jitter").map_or(Some(Duration::ZERO), |i| finite(&i));
    let stuck =
        fields.get("stuck").map_or(Some(0.0), |i| i.number("a share from 0 to 1", |n| (0.0..=1.0).contains(&n)));
    let stuck_for = fields.get("stuck-for").map_or(Some(Duration::INFINITE), |i| i.duration());
    let seed = fields.get("seed").map_or(Some(0), |i| i.integer(0..u64::MAX));
    fields.finish();
    Some(Housekeeping { duration: duration?, jitter: jitter?, stuck: stuck?, stuck_for: stuck_for?, seed: seed? })
}

fn read_on_preempt(item: &Item<'_, '_>) -> Option<OnPreempt> {
    let fields = item.fields("on-preempt")?;
    let heed = fields.need("heed").and_then(|i| i.number("a share from 0 to 1", |n| (0.0..=1.0).contains(&n)));
    let within = fields.get("within").map_or(Some(Duration::ZERO), |i| finite(&i));
    let seed = fields.get("seed").map_or(Some(0), |i| i.integer(0..u64::MAX));
    fields.finish();
    Some(OnPreempt { heed: heed?, within: within?, seed: seed? })
}

/// A duration that ends.
pub(super) fn finite(item: &Item<'_, '_>) -> Option<Duration> {
    let length = item.duration()?;
    if length.is_infinite() { item.wrong("a duration that ends") } else { Some(length) }
}
