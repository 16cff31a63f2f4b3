//! Where a session writes.

use std::io::{self, Write};

/// The file of `-t`, standard output and standard error.
pub struct Outputs<'a> {
    test: Option<&'a mut dyn Write>,
    stdout: &'a mut dyn Write,
    stderr: &'a mut dyn Write,
}

impl<'a> Outputs<'a> {
    /// `test` takes what commands answer; without it that goes to standard output.
    pub fn new(test: Option<&'a mut dyn Write>, stdout: &'a mut dyn Write, stderr: &'a mut dyn Write) -> Self {
        Self { test, stdout, stderr }
    }

    /// Where resources and results go.
    pub(crate) fn results(&mut self) -> &mut dyn Write {
        match &mut self.test {
            Some(test) => *test,
            None => self.stdout,
        }
    }

    /// Where lists and measurements go.
    pub(crate) fn console(&mut self) -> &mut dyn Write {
        self.stdout
    }

    /// Where complaints go.
    pub(crate) fn errors(&mut self) -> &mut dyn Write {
        self.stderr
    }

    /// Hands everything on to where it belongs.
    ///
    /// # Errors
    /// Those of the writers.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(test) = &mut self.test {
            test.flush()?;
        }
        self.stdout.flush()?;
        self.stderr.flush()
    }
}

impl Outputs<'_> {
    /// Shows a prompt on standard output.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn prompt(&mut self, prompt: &str) -> io::Result<()> {
        self.stdout.write_all(prompt.as_bytes())?;
        self.stdout.flush()
    }
}
