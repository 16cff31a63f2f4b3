//! The command line.
//!
//! Decides how the program is spoken to and how it answers people; everything else is the library's. Results go to
//! standard output, diagnostics and progress to standard error. The exit codes stand in [`Exit`] alone.

mod args;
mod calendar;
mod compare;
mod config;
mod config_args;
mod diagnostic;
mod exit;
mod explain;
mod forecast;
mod import;
mod jobspec;
mod output;
mod plan;
mod progress;
mod query;
mod replay;
mod service;
mod summary;
mod unrun;

pub use args::{Cli, command};
pub use exit::Exit;

use args::{CalendarCommand, Command, JobspecCommand};
use clap::Parser;
use diagnostic::Failure;
use std::process::ExitCode;

/// The program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            // Nobody is left to be told when that fails.
            let _ = error.print();
            return exit.into();
        }
    };
    // Terminals wrap by themselves, and what is not wrapped can be searched and copied.
    // It fails only where a handler is set already, which will do as well.
    let _ = miette::set_hook(Box::new(|_| Box::new(miette::MietteHandlerOpts::new().wrap_lines(false).build())));
    let result = match cli.command {
        Command::Replay(args) => replay::run(&args),
        Command::Forecast(args) => forecast::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Apply(args) => plan::apply(&args),
        Command::Jobspec { command: JobspecCommand::Validate { files } } => jobspec::validate(&files),
        Command::Calendar { command: CalendarCommand::Next(args) } => calendar::next(&args),
        Command::Calendar { command: CalendarCommand::Check(args) } => calendar::check_all(&args),
        Command::Import(args) => import::run(&args),
        Command::Config { command } => config::run(&command),
        Command::Service { command } => service::run(&command),
        Command::Completions { shell } => output::completions(shell),
        Command::Man { directory } => output::man(directory.as_deref()),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(Failure { exit: Exit::Ok, .. }) => Exit::Ok.into(),
        Err(failure) => {
            let exit = failure.exit;
            output::complain(format_args!("{:?}", miette::Report::new(failure)));
            exit.into()
        }
    }
}
