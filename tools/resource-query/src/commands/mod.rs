//! The commands by name and abbreviation.
//!
//! A command gets all words of its line. It says what is wrong on standard error and lets the session go on.

mod change;
mod jobs;
mod matching;
mod show;

use crate::output::Outputs;
use crate::session::{Flow, Session};
use std::io;

type Run = fn(&mut Session, &[&str], &mut Outputs<'_>) -> io::Result<Flow>;

pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) abbreviation: &'static str,
    pub(crate) run: Run,
    pub(crate) note: &'static str,
}

const fn command(name: &'static str, abbreviation: &'static str, run: Run, note: &'static str) -> Command {
    Command { name, abbreviation, run, note }
}

/// All commands, in the order of `help`. Of two with one abbreviation the first has it.
pub(crate) const COMMANDS: [Command; 18] = [
    command(
        "match",
        "m",
        matching::match_one,
        "Match a jobspec: match OPERATION FILE, where OPERATION is allocate, allocate_orelse_reserve, \
         allocate_with_satisfiability, satisfiability, without_allocating or without_allocating_future",
    ),
    command(
        "multi-match",
        "M",
        matching::match_many,
        "Match several jobspecs, up to the first that is not matched: multi-match OPERATION FILE FILE...",
    ),
    command(
        "update",
        "u",
        matching::update,
        "Take over an allocation: update allocate|reserve jgf|jgf_shorthand|rv1exec FILE JOBID AT DURATION",
    ),
    command("attach", "j", change::attach, "Add what the graph lacks of a JGF: attach FILE"),
    command(
        "remove",
        "j",
        change::remove,
        "Take a subgraph away, by path (true) or by ranks (false): remove PATH|IDSET true|false",
    ),
    command(
        "find",
        "f",
        show::find,
        "Show vertices: find EXPRESSION, of status=up|down sched-now=allocated|free sched-future=reserved|free \
         agfilter=true|false names=HOSTLIST property=NAME and jobid-alloc= jobid-span= jobid-tag= jobid-reserved=JOBID, \
         with `and`, `or` and parentheses",
    ),
    command("cancel", "c", jobs::cancel, "Give back all that a job holds: cancel JOBID [stats]"),
    command(
        "partial-cancel",
        "pc",
        jobs::partial_cancel,
        "Give back a part of an allocation: partial-cancel JOBID jgf|rv1exec FILE [stats]",
    ),
    command("set-property", "p", change::set_property, "Give a vertex a property: set-property PATH NAME=VALUE"),
    command("get-property", "g", show::get_property, "Show the properties of a vertex: get-property PATH"),
    command("set-status", "t", change::set_status, "Mark a vertex and what is inside: set-status PATH up|down"),
    command("get-status", "e", show::get_status, "Show the mark of a vertex: get-status PATH"),
    command("list", "l", jobs::list, "List all jobs: list"),
    command("info", "i", jobs::info, "Show a job: info JOBID"),
    command("stat", "s", jobs::stat, "Show how long matches took: stat"),
    command("cat", "a", show::cat, "Print a file: cat FILE"),
    command("help", "h", show::help, "Explain one command or all: help [COMMAND]"),
    command("quit", "q", |_, _, _| Ok(Flow::End), "End the session: quit"),
];

/// The command with this name or abbreviation.
pub(crate) fn find(word: &str) -> Option<&'static Command> {
    static ALL: [Command; 18] = COMMANDS;
    ALL.iter().find(|command| command.name == word || command.abbreviation == word)
}

const SEPARATOR: &str = "INFO: =============================";

/// Says that a command has the wrong number of words.
fn malformed(outputs: &mut Outputs<'_>) -> io::Result<Flow> {
    complain(outputs, "ERROR: malformed command")
}

fn complain(outputs: &mut Outputs<'_>, message: impl std::fmt::Display) -> io::Result<Flow> {
    say(outputs, message)?;
    Ok(Flow::Continue)
}

fn say(outputs: &mut Outputs<'_>, message: impl std::fmt::Display) -> io::Result<()> {
    writeln!(outputs.errors(), "{message}")
}
