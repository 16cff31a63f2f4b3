//! What can be said on the command line.

use super::config_args::{ConfigCommand, LayerArgs};
use super::exit::EXIT_STATUS;
use crate::config::{MatchPolicy, QueuePolicy};
use crate::replay::scenario::{LimitRule, PassRule};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// A partitioned resource-graph scheduler for HPC clusters: queues that exchange nodes while they run.
#[derive(Debug, Parser)]
#[command(name = "sluice", version, after_help = EXIT_STATUS, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The definition of the whole command line, for man pages and completions.
pub fn command() -> clap::Command {
    Cli::command()
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Replay a job trace or a scenario against a machine, and report what came out
    Replay(Box<ReplayArgs>),
    /// When jobs start, nodes are free, and what moves arrives: at worst and likely
    Forecast(Box<super::forecast::ForecastArgs>),
    /// Why a job waits, who has a node, how a queue stands
    Explain(Box<super::explain::ExplainArgs>),
    /// What a change would do, without doing it
    Plan(Box<super::plan::PlanArgs>),
    /// Do a change, and show what comes of it
    Apply(Box<super::plan::ApplyArgs>),
    /// Work with jobspecs
    Jobspec {
        /// What to do.
        #[command(subcommand)]
        command: JobspecCommand,
    },
    /// Look at the calendar of a configuration or a scenario
    Calendar {
        /// What to do.
        #[command(subcommand)]
        command: CalendarCommand,
    },
    /// Look at the configuration: what holds, who said so, and whether it is right
    Config {
        /// What to do.
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Look at the services that a program is made of, and at what would be started
    Service {
        /// What to do.
        #[command(subcommand)]
        command: super::service::ServiceCommand,
    },
    /// Print the completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write one page per command into a directory
    Man {
        /// Where to; without it the page of the program is printed
        #[arg(value_hint = ValueHint::DirPath)]
        directory: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum JobspecCommand {
    /// Check that files are jobspecs, in YAML or JSON
    #[command(after_help = EXIT_STATUS)]
    Validate {
        /// The files, each of one document or several [default: standard input]
        #[arg(value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum CalendarCommand {
    /// List what queues start and stop next, in local time and UTC
    #[command(after_help = EXIT_STATUS)]
    Next(CalendarNextArgs),
    /// Find overlaps, gaps, and switches that cannot be in time
    #[command(after_help = EXIT_STATUS)]
    Check(CalendarArgs),
}

#[derive(Debug, Args)]
pub(super) struct CalendarNextArgs {
    /// A configuration, or a scenario: a TOML file, or a directory with a scenario.toml in it
    #[arg(value_hint = ValueHint::AnyPath)]
    pub path: PathBuf,

    /// So many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub count: u32,

    /// After this instant, as 2026-03-08T10:00Z [default: time 0 of a scenario, else now]
    #[arg(long, value_name = "TIME", value_parser = super::calendar::instant)]
    pub at: Option<i64>,

    /// Print them as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CalendarArgs {
    /// A configuration, or a scenario: a TOML file, or a directory with a scenario.toml in it
    #[arg(value_hint = ValueHint::AnyPath)]
    pub path: PathBuf,

    /// From this instant on, as 2026-03-08T10:00Z [default: time 0 of a scenario, else now]
    #[arg(long, value_name = "TIME", value_parser = super::calendar::instant)]
    pub at: Option<i64>,

    /// So many days
    #[arg(long, value_name = "N", default_value_t = 366, value_parser = clap::value_parser!(u32).range(1..=3_660))]
    pub days: u32,

    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
}

const REPLAY_USAGE: &str = "\
sluice replay [OPTIONS] <SCENARIO>
       sluice replay [OPTIONS] --swf <FILE>";

const EXAMPLES: &str = "\
EXAMPLES:
  Replay a weekend in which a queue takes nodes from two others:
    sluice replay graph-fixtures/weekend-dat
  EASY backfilling on the machine that the trace's header describes, and where each job started:
    sluice replay --swf trace.swf.gz --queue-policy easy --starts starts.txt
  The same on 20 nodes of 80 cores, with perfect estimates, as JSON:
    sluice replay --swf trace.swf.gz --nodes 20 --cores-per-node 80 --limit runtime --json

  With --swf each processor of the header's MaxProcs (else MaxNodes) is a node of its own, and a job gets as many whole
  nodes as it asks for processors; with --nodes it gets as many slots of one core, anywhere.
";

#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_STATUS}"), override_usage = REPLAY_USAGE)]
pub(super) struct ReplayArgs {
    /// A scenario: a TOML file, or a directory with a scenario.toml in it
    #[arg(required_unless_present = "swf", conflicts_with = "swf", value_hint = ValueHint::AnyPath)]
    pub scenario: Option<PathBuf>,

    /// A job trace in the Standard Workload Format, plain or gzip, instead of a scenario
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub swf: Option<PathBuf>,

    /// The machine has so many nodes, whatever the trace's header says
    #[arg(long, value_name = "N", requires = "swf", conflicts_with = "scenario", value_parser = clap::value_parser!(u32).range(1..))]
    pub nodes: Option<u32>,

    /// Each of them has so many cores [default: 1]
    #[arg(long, value_name = "C", requires = "nodes", value_parser = clap::value_parser!(u32).range(1..))]
    pub cores_per_node: Option<u32>,

    /// In which order jobs may start [default: fcfs]
    #[arg(long, value_name = "P", requires = "swf", conflicts_with = "scenario", value_parser = names::<QueuePolicy>(QueuePolicy::NAMES))]
    pub queue_policy: Option<QueuePolicy>,

    /// A pass looks at so many pending jobs [default: all]
    #[arg(long, value_name = "N", requires = "swf", conflicts_with = "scenario", value_parser = clap::value_parser!(u32).range(1..))]
    pub queue_depth: Option<u32>,

    /// `hybrid` makes so many reservations [default: 64]
    #[arg(long, value_name = "N", requires = "swf", conflicts_with = "scenario", value_parser = clap::value_parser!(u32).range(1..))]
    pub reservation_depth: Option<u32>,

    /// Which of the nodes that fit a job gets [default: first]
    #[arg(long, value_name = "M", requires = "swf", conflicts_with = "scenario", value_parser = names::<MatchPolicy>(MatchPolicy::NAMES))]
    pub match_policy: Option<MatchPolicy>,

    /// The time limit of a trace's jobs: what was requested, or the run time (perfect estimates)
    #[arg(long, value_enum)]
    pub limit: Option<Limit>,

    /// Schedulers run once for each instant, or after every single event
    #[arg(long, value_enum)]
    pub pass: Option<Pass>,

    /// One call of the schedulers examines at most so many jobs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub work_budget: Option<u32>,

    /// Stop at this time (seconds or a Flux duration, on the clock of the replay), whatever waits or runs
    #[arg(long, value_name = "TIME", value_parser = crate::formats::duration::parse)]
    pub until: Option<crate::base::Duration>,

    /// Check the invariants after every step; the first that is broken ends the replay
    #[arg(long)]
    pub check: bool,

    /// Forecast all starts about so often (50 if not said) and compare with what comes: median and 90th percentile of the error
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "50", require_equals = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub measure_forecast: Option<u32>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Write the id and the start of each job
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = output_file)]
    pub starts: Option<PathBuf>,

    /// Write a row for each job, in the columns of Batsim and evalys
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = output_file)]
    pub jobs_csv: Option<PathBuf>,

    /// Write everything that happens and everything that is decided, as JSON Lines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = output_file)]
    pub events: Option<PathBuf>,

    /// Show no progress bar
    #[arg(long)]
    pub no_progress: bool,

    /// What lies over the scenario's configuration.
    #[command(flatten)]
    pub layers: LayerArgs,
}

/// Which time is the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Limit {
    /// What was requested
    Requested,
    /// The run time
    Runtime,
}

impl From<Limit> for LimitRule {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Requested => LimitRule::Requested,
            Limit::Runtime => LimitRule::Runtime,
        }
    }
}

/// When schedulers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Pass {
    /// Once for each instant, after all its events
    Timestamp,
    /// After every single event
    Event,
}

impl From<Pass> for PassRule {
    fn from(pass: Pass) -> Self {
        match pass {
            Pass::Timestamp => PassRule::Timestamp,
            Pass::Event => PassRule::Event,
        }
    }
}

/// The name of a file to write: `-` would be a file of that name, which nobody means.
fn output_file(text: &str) -> Result<PathBuf, &'static str> {
    match text {
        "-" => Err("expected the name of a file (standard output is /dev/stdout)"),
        _ => Ok(PathBuf::from(text)),
    }
}

/// A parser for an enum with fixed names.
fn names<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: std::str::FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_sound() {
        super::command().debug_assert();
    }
}
