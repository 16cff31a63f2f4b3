//! Fluxion's `resource-query` and ours on the same graph, jobspecs and commands, in turn, and the ratios.
//!
//! Both tools measure themselves (`-e`: time per match, from the text of the jobspec to the text of R); beside them
//! stands our engine in this process, jobspecs read before and R written in the mixed row only. What is asked of the machine are the
//! rows of [`rows::ROWS`]. Peak memory is what the kernel says of the process after the graph is loaded (Linux only).

mod engine;
mod rows;
mod tool;

use clap::Parser;
use rows::{ROWS, Row};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compare Fluxion's resource-query with ours.
#[derive(Debug, Parser)]
struct Args {
    /// Fluxion's tool
    #[arg(long, value_name = "FILE")]
    fluxion: PathBuf,
    /// Our tool
    #[arg(long, value_name = "FILE", default_value = "target/release/resource-query")]
    ours: PathBuf,
    /// Nodes of the machine, in racks of 64 with 48 cores each
    #[arg(long, default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(64..))]
    nodes: u32,
    /// Matches that are measured in each row
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    matches: u32,
    /// Rows by letter, as `abc` [default: all]
    #[arg(long, value_name = "LETTERS")]
    rows: Option<String>,
    /// Where graph, jobspecs and commands are written
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare-fluxion: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Seconds as a person reads them.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s if s >= 1e-6 => format!("{:.2} µs", s * 1e6),
        s => format!("{:.0} ns", s * 1e9),
    }
}

fn run(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    let scratch = std::env::temp_dir().join(format!("compare-fluxion-{}", std::process::id()));
    let directory = args.directory.as_ref().unwrap_or(&scratch);
    std::fs::create_dir_all(directory)?;
    let graph = directory.join("graph.graphml");
    std::fs::write(&graph, rows::recipe(args.nodes).to_graphml())?;
    println!("{} nodes; per match: Fluxion, our tool (ratio), our engine (ratio)", args.nodes);
    let load = [&args.fluxion, &args.ours].map(|program| tool::load(program, &graph));
    let [theirs, ours] = load;
    let (theirs, ours) = (theirs?, ours?);
    println!(
        "load: {}, {} ({:.0}x); peak memory: {} MiB, {} MiB ({:.1}x)",
        time(theirs.seconds),
        time(ours.seconds),
        theirs.seconds / ours.seconds,
        theirs.peak >> 20,
        ours.peak >> 20,
        theirs.peak as f64 / ours.peak as f64,
    );
    let (mut logarithms, mut count) = (0.0, 0);
    for row in ROWS.iter().filter(|row| args.rows.as_ref().is_none_or(|letters| letters.contains(row.letter))) {
        let case = row.case(args.nodes, args.matches, directory);
        case.write()?;
        let theirs = tool::per_match(&args.fluxion, &graph, &case)?;
        let ours = tool::per_match(&args.ours, &graph, &case)?;
        let engine = engine::per_match(&graph, &case)?;
        print_row(row, theirs, ours, engine);
        logarithms += (theirs / engine).ln();
        count += 1;
    }
    if count > 0 {
        println!("geometric mean of the ratios of the engine: {:.0}x", (logarithms / f64::from(count)).exp());
    }
    if args.directory.is_none() {
        std::fs::remove_dir_all(&scratch)?;
    }
    Ok(())
}

fn print_row(row: &Row, theirs: f64, ours: f64, engine: f64) {
    println!(
        "({}) {}: {}, {} ({:.0}x), {} ({:.0}x)",
        row.letter,
        row.what,
        time(theirs),
        time(ours),
        theirs / ours,
        time(engine),
        theirs / engine,
    );
}
