//! Schedulers that are programs: started, told and heard over pipes, one JSON message a line.
//!
//! Decides nothing: what is to be started, told and ended is said by the site, and what is heard goes back to it. A program
//! that cannot be started, says what is no message, says nothing for too long or ends is lost, with the reason.

use crate::scheduler::wire::{Said, Told};
use crate::services::Rule;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long a program may be silent when an answer is due, in real time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program that runs.
struct Program {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: Receiver<std::io::Result<String>>,
}

impl Program {
    fn start(rule: &Rule) -> Result<Self, String> {
        let file = file_of(rule);
        let told = |e: std::io::Error| format!("cannot start {}: {e}", file.display());
        let mut command = Command::new(&file);
        command.args(&rule.args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(told)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{} has no pipes", file.display()));
        };
        let (send, receive) = channel();
        // Ends with the program's output, or when nobody listens any more.
        std::thread::spawn(move || BufReader::new(from).lines().try_for_each(|line| send.send(line)));
        Ok(Self { child, to: BufWriter::new(to), from: receive })
    }

    fn tell(&mut self, told: &Told) -> Result<(), String> {
        let line = serde_json::to_string(told).map_err(|e| e.to_string())?;
        writeln!(self.to, "{line}").map_err(|e| format!("it does not listen: {e}"))
    }

    fn hear(&mut self) -> Result<Said, String> {
        self.to.flush().map_err(|e| format!("it does not listen: {e}"))?;
        let line = match self.from.recv_timeout(PATIENCE) {
            Ok(line) => line.map_err(|e| format!("it cannot be heard: {e}"))?,
            Err(RecvTimeoutError::Timeout) => return Err(format!("it was silent for {} s", PATIENCE.as_secs())),
            Err(RecvTimeoutError::Disconnected) => return Err(self.ending()),
        };
        serde_json::from_str(&line).map_err(|e| format!("it said {}, which is no message: {e}", shortened(&line)))
    }

    fn ending(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => format!("it ended ({status})"),
            Err(e) => format!("it ended: {e}"),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // One that has ended already is not there to be told; neither matters any more.
        let _ = self.tell(&Told::End).and_then(|()| self.to.flush().map_err(|e| e.to_string()));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shortened(line: &str) -> String {
    let short: String = line.chars().take(80).collect();
    if short.len() < line.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// The file of a program: beside its fragment, or where the system looks for programs.
fn file_of(rule: &Rule) -> PathBuf {
    let name = rule.module.as_deref().unwrap_or(rule.name.trim_end_matches('@'));
    let beside = rule.directory.join(name);
    if !name.contains('/') && !beside.exists() {
        return PathBuf::from(name);
    }
    // Without a slash it would be looked for elsewhere.
    if beside.parent().is_none_or(|parent| parent.as_os_str().is_empty()) {
        PathBuf::from(".").join(beside)
    } else {
        beside
    }
}

/// All programs of a replay.
#[derive(Default)]
pub struct Programs {
    /// By the name of the provider: how each is started.
    rules: BTreeMap<String, Rule>,
    live: BTreeMap<(Arc<str>, u64), Program>,
    /// How many were started.
    pub started: u64,
}

impl Programs {
    /// Those that can be started, by the name of the provider.
    pub fn new(rules: BTreeMap<String, Rule>) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Starts one.
    ///
    /// # Errors
    /// Why it cannot be.
    pub fn launch(&mut self, queue: &Arc<str>, instance: u64, provider: &str) -> Result<(), String> {
        let rule = self.rules.get(provider).ok_or_else(|| {
            let known: Vec<&str> = self.rules.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!("no program is called {provider}; there are: {known}")
        })?;
        self.live.insert((queue.clone(), instance), Program::start(rule)?);
        self.started += 1;
        Ok(())
    }

    /// Tells one something.
    ///
    /// # Errors
    /// It does not listen any more.
    pub fn tell(&mut self, queue: &Arc<str>, instance: u64, told: &Told) -> Result<(), String> {
        match self.live.get_mut(&(queue.clone(), instance)) {
            Some(program) => program.tell(told),
            None => Ok(()),
        }
    }

    /// Waits for what one says next.
    ///
    /// # Errors
    /// It is no more, or says what is no message.
    pub fn hear(&mut self, queue: &Arc<str>, instance: u64) -> Result<Said, String> {
        let program = self.live.get_mut(&(queue.clone(), instance));
        program.map_or_else(|| Err("it does not run".to_owned()), Program::hear)
    }

    /// Ends all of them.
    pub fn end_all(&mut self) {
        self.live.clear();
    }

    /// Ends one.
    pub fn end(&mut self, queue: &Arc<str>, instance: u64) {
        self.live.remove(&(queue.clone(), instance));
    }
}
