//! Completions and man pages, from the definitions of the command line; and what is said beside a result.

use super::args::command;
use super::diagnostic::Failure;
use super::exit::Exit;
use std::io::Write;
use std::path::Path;

pub(super) fn completions(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "sluice", &mut text);
    std::io::stdout().write_all(&text)?;
    Ok(Exit::Ok)
}

pub(super) fn man(directory: Option<&Path>) -> Result<Exit, Failure> {
    match directory {
        Some(directory) => {
            let told = |e: std::io::Error| Failure::new(format!("cannot write to {}: {e}", directory.display()), None);
            std::fs::create_dir_all(directory).map_err(told)?;
            clap_mangen::generate_to(command(), directory).map_err(told)?;
        }
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(command()).render(&mut text)?;
            std::io::stdout().write_all(&text)?;
        }
    }
    Ok(Exit::Ok)
}

/// Says something beside the result. Who does not listen to standard error misses it: that ends nothing.
pub(super) fn complain(text: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}
