//! How the program ends.

use std::process::ExitCode;

/// The exit codes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All is well.
    Ok = 0,
    /// Something went wrong.
    Error = 1,
    /// What was looked for was found: `plan` sees changes, `jobspec validate` what is no jobspec, `calendar check` what is odd.
    Found = 2,
    /// An invariant or an expectation failed.
    Failed = 3,
    /// The command line cannot be understood (clap's own code would be 2).
    Usage = 64,
    /// What was waited for did not happen in time.
    Timeout = 75,
}

/// The table of exit codes, as `--help` and the man pages show it.
pub const EXIT_STATUS: &str = "\
EXIT STATUS:
   0  all is well
   1  something went wrong
   2  `plan` sees changes, `jobspec validate` what is no jobspec, `calendar check` what is odd
   3  an invariant or an expectation failed
  64  the command line cannot be understood
  75  what was waited for did not happen in time";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_code() {
        for exit in [Exit::Ok, Exit::Error, Exit::Found, Exit::Failed, Exit::Usage, Exit::Timeout] {
            let line = format!("\n{:>4}  ", exit as u8);
            assert!(EXIT_STATUS.contains(&line), "{exit:?}");
        }
    }
}
