//! `sluice import`.

use super::diagnostic::Failure;
use super::exit::{EXIT_STATUS, Exit};
use super::query::pretty;
use crate::config::import::slurm::{self, Imported};
use crate::config::import::{Concern, ImportedKey};
use crate::replay::library::Files;
use clap::{Args, ValueHint};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
EXAMPLES:
  What a Slurm cluster would be here, and what of it would not:
    sluice import /etc/slurm/slurm.conf -o cluster.toml
  With its gpus and switches:
    sluice import slurm.conf gres.conf topology.conf -o cluster.toml

  Each line about what was not converted names file, line and key, says why, and behind an arrow what to do.
";

#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n{EXIT_STATUS}"))]
pub(super) struct ImportArgs {
    /// slurm.conf, and beside it gres.conf and topology.conf; what they include is read as well
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,

    /// Write the configuration into this file [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Leave out what does not concern scheduling
    #[arg(short, long)]
    pub quiet: bool,

    /// Print the configuration, and each key with what became of it, as JSON
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
}

pub(super) fn run(args: &ImportArgs) -> Result<Exit, Failure> {
    let imported = slurm::import(&args.files, &Files).map_err(|errors| {
        let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::new(
            all.join("\n"),
            Some("Slurm would not take this either; docs/from-slurm.md says what is read".into()),
        )
    })?;
    if args.json {
        std::io::stdout().write_all(pretty(&as_json(&imported))?.as_bytes())?;
        return Ok(Exit::Ok);
    }
    match &args.output {
        Some(file) => std::fs::write(file, &imported.text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display()), None))?,
        None => std::io::stdout().write_all(imported.text.as_bytes())?,
    }
    let mut told = std::io::stderr().lock();
    let (mut look, mut aside) = (0, 0);
    for key in &imported.keys {
        for note in &key.notes {
            match note.concern {
                Concern::Look => look += 1,
                Concern::Aside => aside += 1,
            }
            if note.concern == Concern::Look || !args.quiet {
                let arrow = if note.advice.is_empty() { "" } else { " -> " };
                let value = shown(&key.value);
                writeln!(told, "{}:{}: {}={value}: {}{arrow}{}", key.file, key.line, key.key, note.why, note.advice)?;
            }
        }
    }
    let converted = imported.keys.iter().filter(|key| !key.became.is_empty()).count();
    writeln!(
        told,
        "{} keys, {converted} of them converted; {look} remarks to look at, {aside} that ask for nothing",
        imported.keys.len()
    )?;
    Ok(Exit::Ok)
}

/// A value as it fits into a line.
fn shown(value: &str) -> String {
    const MOST: usize = 40;
    if value.chars().count() <= MOST { value.to_owned() } else { value.chars().take(MOST).chain(['…']).collect() }
}

fn as_json(imported: &Imported) -> serde_json::Value {
    let note = |note: &crate::config::import::Note| {
        let look = note.concern == Concern::Look;
        json!({ "look": look, "why": note.why, "advice": note.advice })
    };
    let key = |key: &ImportedKey| {
        json!({
            "file": key.file,
            "line": key.line,
            "key": key.key,
            "value": key.value,
            "became": key.became,
            "notes": key.notes.iter().map(note).collect::<Vec<_>>(),
        })
    };
    json!({ "config": imported.text, "keys": imported.keys.iter().map(key).collect::<Vec<_>>() })
}
