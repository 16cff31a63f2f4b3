//! Runs a tool and reads what it measures.

use crate::rows::Case;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// What loading a graph takes.
pub(crate) struct Load {
    pub(crate) seconds: f64,
    /// Bytes.
    pub(crate) peak: u64,
}

fn fault(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

/// Loads a graph and looks at the process before it ends.
pub(crate) fn load(program: &Path, graph: &Path) -> io::Result<Load> {
    let mut child = command(program, graph).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or_else(|| fault("no standard input"))?;
    let output = BufReader::new(child.stdout.take().ok_or_else(|| fault("no standard output"))?);
    let (mut seconds, mut peak) = (None, 0);
    // `stat` answers only when the graph is there.
    writeln!(input, "stat")?;
    for line in output.lines() {
        let line = line?;
        if let Some(time) = line.strip_prefix("INFO: Graph Load Time: ") {
            seconds = time.parse().ok();
        } else if line.starts_with("INFO: Avg. Match Time") {
            peak = peak_memory(child.id())?;
            writeln!(input, "quit")?;
            break;
        }
    }
    drop(input);
    child.wait()?;
    let seconds = seconds.ok_or_else(|| fault(format!("{} says no load time", program.display())))?;
    Ok(Load { seconds, peak })
}

fn peak_memory(process: u32) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes: Option<u64> = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kibibytes.map(|kib| kib << 10).ok_or_else(|| fault("the kernel says no peak memory"))
}

fn command(program: &Path, graph: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("-L").arg(graph).args(["-e", "-d"]).stderr(Stdio::null());
    command
}

/// Mean seconds of the matches that are measured.
pub(crate) fn per_match(program: &Path, graph: &Path, case: &Case) -> io::Result<f64> {
    let mut command = command(program, graph);
    command.args(["-P", case.policy, "-F", case.format]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or_else(|| fault("no standard input"))?;
    let commands = case.commands.join("\n") + "\nquit\n";
    let writer = std::thread::spawn(move || input.write_all(commands.as_bytes()));
    let output = BufReader::new(child.stdout.take().ok_or_else(|| fault("no standard output"))?);
    let mut times: Vec<f64> = Vec::new();
    for line in output.lines() {
        times.extend(line?.strip_prefix("INFO: ELAPSE=").and_then(|time| time.parse::<f64>().ok()));
    }
    let status = child.wait()?;
    writer.join().map_err(|_| fault("the writer of commands panicked"))??;
    let measured = times.get(case.unmeasured..).unwrap_or_default();
    if !status.success() || measured.is_empty() {
        return Err(fault(format!("{} measured nothing ({status})", program.display())));
    }
    Ok(measured.iter().sum::<f64>() / measured.len() as f64)
}
