//! What can be said about configuration on the command line.

use super::exit::EXIT_STATUS;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// Which configuration is meant, beside what stands in files that are always read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub(super) struct LayerArgs {
    /// Named configurations, later ones over earlier ones
    #[arg(long, value_name = "NAME,…", env = "SLUICE_CONFIG", value_delimiter = ',')]
    pub config_name: Vec<String>,

    /// Configuration files, over the named ones
    #[arg(long = "config", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config_files: Vec<PathBuf>,

    /// One key, over everything else; "a.b+=[…]" appends, "a.b-=true" unsets
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// The profile of the scheduler of every queue that names none: fcfs, easy, hybrid, conservative, htc, fluxion, simple, or
    /// one of the configuration
    #[arg(long, value_name = "NAME")]
    pub sched: Option<String>,

    /// Where named configurations are, later directories over earlier ones
    /// [default: /etc/sluice/configs:$XDG_CONFIG_HOME/sluice/configs]
    #[arg(long, value_name = "DIR:…", env = "SLUICE_CONFIG_PATH", value_hint = ValueHint::DirPath)]
    pub config_path: Option<String>,
}

const EXAMPLES: &str = "\
EXAMPLES:
  What holds, and where each value stands:
    sluice config show --origin --config-name site,weekend
  Who set a key, and who was overridden:
    sluice config explain queues.batch.policy.limits.duration --config-name site
  What the weekend changes:
    sluice config diff site weekend
";

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print what holds, one key a line; the output is a configuration itself
    #[command(after_help = format!("{EXAMPLES}\n{EXIT_STATUS}"))]
    Show {
        /// Only this key and what is below [default: all]
        key: Option<String>,
        /// Say where each value stands
        #[arg(long)]
        origin: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        layers: LayerArgs,
    },
    /// Check that the configuration is right; all that is wrong is told at once
    #[command(after_help = EXIT_STATUS)]
    Check {
        #[command(flatten)]
        layers: LayerArgs,
    },
    /// Compare two configurations, each a name or a file, over the same defaults
    #[command(after_help = EXIT_STATUS)]
    Diff {
        /// A name, or a file (with a / or .toml in it); several with commas
        a: String,
        /// The other
        b: String,
        #[command(flatten)]
        layers: LayerArgs,
    },
    /// Say what a key means, who set it and who was overridden
    #[command(after_help = EXIT_STATUS)]
    Explain {
        /// The key, as queues.batch.policy.limits.duration
        key: String,
        #[command(flatten)]
        layers: LayerArgs,
    },
    /// Print the JSON schema of a configuration, for editors
    Schema,
    /// Print the reference of all keys, docs/configuration.md
    #[command(hide = true)]
    Reference,
}
