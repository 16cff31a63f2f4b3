//! How one queue is scheduled: the keys of `policy.scheduler`, which RFC 33 leaves to the scheduler.

use crate::base::Duration;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A word that is not one of a fixed set.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("unknown {what} `{found}`; known are {}", known.join(", "))]
pub struct UnknownName {
    /// What the word should have named.
    pub what: &'static str,
    /// The word.
    pub found: String,
    /// The words that are known.
    pub known: &'static [&'static str],
}

/// An enum each of whose variants has one name, in configuration, on the command line and in JSON.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident, $what:literal { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// All names, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            /// The name of this variant.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;
            fn from_str(text: &str) -> Result<Self, UnknownName> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(UnknownName { what: $what, found: text.to_owned(), known: Self::NAMES }),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named!(
    /// In which order jobs may start.
    QueuePolicy, "queue policy" {
        /// In order; the first that cannot start stops the rest.
        #[default]
        Fcfs = "fcfs",
        /// The first that cannot start gets a reservation; others start where they do not delay it.
        Easy = "easy",
        /// As `easy`, with as many reservations as `reservation-depth`.
        Hybrid = "hybrid",
        /// Every job has a reservation, recomputed in each pass in queue order.
        Conservative = "conservative",
        /// Every job has a reservation, kept, and moved earlier at each release.
        ConservativeCompress = "conservative-compress",
    }
);

named!(
    /// Which of the resources that fit are taken.
    MatchPolicy, "match policy" {
        /// The first found.
        #[default]
        First = "first",
        /// The first found, whole nodes.
        Firstnodex = "firstnodex",
        /// Highest ids first.
        High = "high",
        /// Lowest ids first.
        Low = "low",
        /// Highest node ids first, highest ids within.
        Hinode = "hinode",
        /// Lowest node ids first.
        Lonode = "lonode",
        /// As `hinode`, whole nodes.
        Hinodex = "hinodex",
        /// As `lonode`, whole nodes.
        Lonodex = "lonodex",
    }
);

named!(
    /// What happens when a queue is started while an equal one claims some of its targets.
    Overlap, "overlap" {
        /// The start is refused.
        #[default]
        Refuse = "refuse",
        /// The queue goes before its equals until it gives up its claim.
        Take = "take",
    }
);

named!(
    /// Whether jobs may run past the end of an ownership window.
    Horizon, "horizon" {
        /// A job starts only if it ends in time.
        #[default]
        Strict = "strict",
        /// A job may run over; the switch waits for it.
        Soft = "soft",
        /// Windows are not looked at.
        Off = "off",
    }
);

/// The scheduler's settings for one queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SchedulerSettings {
    /// In which order jobs may start.
    pub queue_policy: QueuePolicy,
    /// Which service schedules: one that provides `sched@`, by its name without `@`; `None`: what is compiled in.
    pub provider: Option<String>,
    /// How many pending jobs a pass looks at, at least 1; `None` is unlimited.
    pub queue_depth: Option<u32>,
    /// How many reservations `hybrid` makes, at least 1.
    pub reservation_depth: u32,
    /// Which of the resources that fit are taken.
    pub match_policy: MatchPolicy,
    /// The higher number has the targets that several queues claim.
    pub precedence: i32,
    /// What happens at a start among equals.
    pub overlap: Overlap,
    /// Whether jobs may run past an ownership window.
    pub horizon: Horizon,
    /// How much longer a job past its limit is expected to run, doubling; more than zero, in microseconds.
    pub overrun_slack: Duration,
    /// How long before the end of a window a job must end, in microseconds.
    pub release_margin: Duration,
}

impl SchedulerSettings {
    /// Who schedules, in a word: the provider, else the queue policy.
    pub fn described(&self) -> &str {
        self.provider.as_deref().unwrap_or(self.queue_policy.name())
    }
}

impl Default for SchedulerSettings {
    fn default() -> Self {
        Self {
            queue_policy: QueuePolicy::default(),
            provider: None,
            queue_depth: None,
            reservation_depth: 64,
            match_policy: MatchPolicy::default(),
            precedence: 0,
            overlap: Overlap::default(),
            horizon: Horizon::default(),
            overrun_slack: Duration::from_secs(60),
            release_margin: Duration::ZERO,
        }
    }
}
