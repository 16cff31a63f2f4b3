//! The result of a replay, for people.

use super::unrun;
use crate::base::{Duration, JobId, Timestamp};
use crate::replay::assembly::Finished;
use crate::replay::donations::DonationRow;
use crate::replay::expect::Verdict;
use crate::replay::measure::Errors;
use crate::replay::metrics::{BorrowerFigures, Figures};
use crate::replay::words;
use crate::site::Site;
use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width, presets,
};
use std::fmt::Write;
use std::io::IsTerminal;

/// How many rows of each table are shown at most.
const ROWS: usize = 40;
/// How many of the longest waits are shown.
const WAITS: usize = 5;
/// How many jobs a donation names.
const HOLDERS: usize = 4;
/// How wide a list of hosts may be.
const HOSTS: usize = 36;

/// Blanks between two columns on a terminal.
const GAP: u16 = 2;
/// How tables look on a terminal.
const TERMINAL: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// What the output can show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    terminal: bool,
    colour: bool,
}

impl Look {
    /// What standard output can show.
    pub fn of_stdout() -> Self {
        let terminal = std::io::stdout().is_terminal();
        Self { terminal, colour: terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) }
    }

    fn arrow(self) -> &'static str {
        if self.terminal { "→" } else { "->" }
    }

    pub(super) fn table(self, header: &[&str], numbers_from: usize) -> Table {
        let mut table = Table::new();
        if self.terminal {
            table.load_style(TERMINAL).set_content_arrangement(ContentArrangement::Dynamic);
        } else {
            table.load_style(presets::ASCII_BORDERS_ONLY_CONDENSED).force_no_tty();
        }
        let cell = |text: &&str| {
            let cell = Cell::new(text);
            if self.colour { cell.add_attribute(Attribute::Bold) } else { cell }
        };
        table.set_header(header.iter().map(cell));
        for column in table.column_iter_mut().skip(numbers_from) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if self.terminal {
            table.column_iter_mut().for_each(|column| {
                column.set_padding((0, GAP));
            });
        }
        table
    }

    /// Makes a table fit a terminal: no word is broken, and where even that is too wide, columns of `spare` are left out,
    /// the first of them first.
    pub(super) fn fit(self, mut table: Table, spare: &[&str]) -> Table {
        let (true, Some(width)) = (self.terminal, table.width()) else { return table };
        let rows = table.header().into_iter().chain(table.row_iter());
        let cells: Vec<Vec<String>> = rows.map(|row| row.cell_iter().map(Cell::content).collect()).collect();
        let columns = cells.iter().map(Vec::len).max().unwrap_or(0);
        let longest = |text: &String| text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        let least = |column: usize| cells.iter().filter_map(|row| row.get(column)).map(longest).max().unwrap_or(0);
        let mut least: Vec<Option<usize>> = (0..columns).map(|column| Some(least(column))).collect();
        for name in spare {
            let total: usize = least.iter().flatten().map(|width| width + usize::from(GAP)).sum();
            if total > usize::from(width)
                && let Some(column) = cells[0].iter().position(|header| header == name)
            {
                least[column] = None;
            }
        }
        for (column, least) in table.column_iter_mut().zip(least) {
            column.set_constraint(match least.map(u16::try_from) {
                None => ColumnConstraint::Hidden,
                Some(least) => ColumnConstraint::LowerBoundary(Width::Fixed(least.unwrap_or(u16::MAX - GAP) + GAP)),
            });
        }
        table
    }
}

/// How many switches are listed.
const SWITCHES: usize = 20;

/// The whole text.
pub(super) fn summary(finished: &Finished, verdicts: &[Verdict], look: Look) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = head(&mut text, finished);
    let _ = writeln!(text, "\nQueues\n{}", queues(finished, look));
    if !finished.outcome.report.levels.is_empty() {
        let _ = writeln!(text, "\nLevels\n{}", levels(finished, look));
    }
    if !finished.outcome.donations.is_empty() {
        let _ = writeln!(text, "\nWhat moved\n{}", donations(finished, look));
        let rest = finished.outcome.donations.len().saturating_sub(ROWS);
        if rest > 0 {
            let _ = writeln!(text, "and {rest} more; --events has all of them");
        }
    }
    if !finished.outcome.report.switches.is_empty() {
        let _ = writeln!(text, "\nWhat switches cost\n{}", switches(finished, look));
        let rest = finished.outcome.report.switches.len().saturating_sub(SWITCHES);
        if rest > 0 {
            let _ = writeln!(text, "and {rest} more; --json has all of them");
        }
        let _ = writeln!(text, "\nWhat queues gave\n{}", gave(finished, look));
    }
    if let Some(table) = longest_waits(finished, look) {
        let _ = writeln!(text, "\nWho waited longest\n{table}");
    }
    if let Some(table) = unrun::table(finished, look) {
        let _ = writeln!(text, "\nWhat did not run\n{table}");
    }
    let _ = tail(&mut text, finished, verdicts);
    text
}

/// What each level of nesting did.
fn levels(finished: &Finished, look: Look) -> Table {
    let header = [
        "level",
        "instances",
        "done",
        "at limit",
        "cut",
        "jobs",
        "completed",
        "mean wait",
        "core-s",
        "jobs/s",
        "most pending",
    ];
    let mut table = look.table(&header, 0);
    for (depth, level) in finished.outcome.report.levels.iter().enumerate() {
        table.add_row([
            depth.to_string(),
            level.instances.to_string(),
            level.done.to_string(),
            level.limited.to_string(),
            level.cut.to_string(),
            level.jobs.submitted.to_string(),
            level.jobs.completed.to_string(),
            length(level.wait_mean_s),
            format!("{:.0}", level.core_s),
            crate::formats::duration::significant(level.throughput),
            level.most_pending.to_string(),
        ]);
    }
    look.fit(table, &["cut", "at limit", "done"])
}

/// A length as a Flux duration of about three digits.
pub(super) fn length(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s < 60.0 => (s, "s"),
        s if s < 3_600.0 => (s / 60.0, "m"),
        s if s < 86_400.0 => (s / 3_600.0, "h"),
        s => (s / 86_400.0, "d"),
    };
    let text = if number < 100.0 { format!("{number:.1}") } else { format!("{number:.0}") };
    format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
}

fn head(text: &mut String, finished: &Finished) -> std::fmt::Result {
    let (scenario, report) = (&finished.scenario, &finished.outcome.report);
    let title = if scenario.title.is_empty() { String::new() } else { format!(": {}", scenario.title) };
    writeln!(text, "{}{title}", scenario.name)?;
    let graph = finished.outcome.site.graph();
    let cores: u64 = graph.targets().iter().filter_map(|t| graph.target(t)).map(|t| u64::from(t.cores())).sum();
    writeln!(text, "Machine      {} nodes, {cores} cores", graph.targets().len())?;
    if let Some(first) = finished.workload.jobs().first() {
        let end = words::instant(finished.outcome.end, finished.epoch);
        writeln!(text, "Time         {} to {end}", words::instant(first.submit, finished.epoch))?;
    }
    let jobs = &report.total.jobs;
    let states = [
        (jobs.completed, "completed"),
        (jobs.failed, "failed"),
        (jobs.cancelled, "cancelled"),
        (jobs.denied, "denied"),
        (jobs.pending, "pending"),
        (jobs.held, "held"),
        (jobs.running, "running"),
    ];
    let states: Vec<String> = states.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let requeued = if jobs.requeued > 0 { format!(" (requeued {} times)", jobs.requeued) } else { String::new() };
    writeln!(text, "Jobs         {} submitted: {}{requeued}", jobs.submitted, states.join(", "))?;
    let (wait, slow) = (&report.total.wait_s, &report.total.bounded_slowdown);
    writeln!(
        text,
        "Wait         mean {:.6} s ({}), median {}, p95 {}, max {}",
        wait.mean,
        length(wait.mean),
        length(wait.median),
        length(wait.p95),
        length(wait.max)
    )?;
    writeln!(text, "Slowdown     bounded, mean {:.8}, max {:.2}", slow.mean, slow.max)?;
    let makespan = length(report.total.makespan_s);
    writeln!(text, "Utilization  {:.6} over {} s ({makespan})", report.total.utilization, report.total.makespan_s)
}

/// States of jobs that a column stands for. All but the first are shown only where there are such jobs.
pub(super) type StateColumn = (&'static str, fn(&Figures) -> u64);

pub(super) const STATES: [StateColumn; 7] = [
    ("completed", |f| f.jobs.completed),
    ("failed", |f| f.jobs.failed),
    ("cancelled", |f| f.jobs.cancelled),
    ("denied", |f| f.jobs.denied),
    ("pending", |f| f.jobs.pending),
    ("held", |f| f.jobs.held),
    ("running", |f| f.jobs.running),
];

fn queues(finished: &Finished, look: Look) -> Table {
    let all = &finished.outcome.report.queues;
    let mut states = STATES.to_vec();
    states.retain(|(word, of)| *word == "completed" || all.values().any(|f| of(f) > 0));
    let mut header = vec!["queue", "jobs"];
    header.extend(states.iter().map(|(word, _)| *word));
    header.extend(["mean wait", "median", "p95", "max", "slowdown", "mean pending", "utilization"]);
    let mut table = look.table(&header, 1);
    for (name, figures) in all {
        table.add_row(queue_row(name, figures, &states));
    }
    look.fit(table, &["mean pending", "median", "p95", "slowdown"])
}

fn queue_row(name: &str, f: &Figures, states: &[StateColumn]) -> Vec<String> {
    let jobs = &f.jobs;
    let waits = [f.wait_s.mean, f.wait_s.median, f.wait_s.p95, f.wait_s.max];
    // Little's law: how many jobs wait on average is how much waiting there is per time.
    let waited = f.wait_s.mean * (jobs.submitted - jobs.denied - jobs.pending - jobs.held) as f64;
    let mean_pending = if f.makespan_s > 0.0 { waited / f.makespan_s } else { 0.0 };
    let mut row = vec![name.to_owned(), jobs.submitted.to_string()];
    row.extend(states.iter().map(|(_, of)| of(f).to_string()));
    row.extend(waits.iter().map(|w| length(*w)));
    row.push(format!("{:.2}", f.bounded_slowdown.mean));
    row.push(format!("{mean_pending:.1}"));
    row.push(format!("{:.1}%", f.utilization * 100.0));
    row
}

fn donations(finished: &Finished, look: Look) -> Table {
    let header = ["began", "from/to", "nodes", "moved", "went back", "on the way", "longest", "had to wait for"];
    let mut table = look.table(&header, 8);
    for row in finished.outcome.donations.iter().take(ROWS) {
        table.add_row(donation_row(finished, row, look));
    }
    look.fit(table, &["on the way", "went back"])
}

fn switches(finished: &Finished, look: Look) -> Table {
    let report = &finished.outcome.report;
    let mut header =
        vec!["at", "switch", "nodes", "moved", "idle node-s", "by donor", "drained in", "asked before", "took"];
    // Lost work has a column where there is any.
    let lost = report.donations.lost_target_s > 0.0;
    if lost {
        header.insert(5, "lost node-s");
    }
    let mut table = look.table(&header, 4);
    for switch in report.switches.iter().take(SWITCHES) {
        let donors = switch.donors.iter().filter(|(_, d)| d.idle_target_s > 0.0);
        let donors: Vec<String> = donors.map(|(name, d)| format!("{name} {:.0}", d.idle_target_s)).collect();
        let at = Timestamp::from_secs_f64(switch.at_s).unwrap_or_default();
        let mut row = vec![
            when(at, finished.epoch),
            if switch.name.is_empty() { "by command".to_owned() } else { switch.name.clone() },
            switch.targets.to_string(),
            switch.moved.to_string(),
            format!("{:.0}", switch.idle_target_s),
            donors.join(", "),
            if switch.open > 0 { "not yet".to_owned() } else { length(switch.drained_s) },
            switch.requested_s.map_or_else(|| "always".to_owned(), |from| length(switch.at_s - from)),
            switch.took_s.map_or_else(|| "not yet".to_owned(), length),
        ];
        if lost {
            row.insert(5, format!("{:.0}", switch.lost_target_s));
        }
        table.add_row(row);
    }
    look.fit(table, &["by donor", "asked before", "drained in"])
}

/// What all switches together cost, by the queue that gave.
fn gave(finished: &Finished, look: Look) -> Table {
    let all = &finished.outcome.report.donations;
    let mut table = look.table(&["queue", "nodes", "idle node-s", "lost node-s", "longest"], 1);
    let row = |name: &str, nodes: u64, idle: f64, lost: f64, took: String| {
        [name.to_owned(), nodes.to_string(), format!("{idle:.0}"), format!("{lost:.0}"), took]
    };
    for (name, donor) in &all.donors {
        let took = donor.took_s.map_or_else(|| "not yet".to_owned(), length);
        table.add_row(row(name, donor.targets, donor.idle_target_s, donor.lost_target_s, took));
    }
    let nodes = all.donors.values().map(|d| d.targets).sum();
    table.add_row(row("all", nodes, all.drain_idle_target_s, all.lost_target_s, length(all.took_max_s)));
    look.fit(table, &["longest"])
}

fn donation_row(finished: &Finished, row: &DonationRow, look: Look) -> Vec<String> {
    let to = row.recipient.as_deref().unwrap_or("nobody");
    let took = row.last.map_or_else(String::new, |last| length(last.since(row.started).secs_f64()));
    let holders = match row.holders.len() {
        0 => "nothing".to_owned(),
        n => {
            let jobs: Vec<String> = row.holders.iter().take(HOLDERS).map(JobId::to_string).collect();
            let more = if n > HOLDERS { format!(" and {} more", n - HOLDERS) } else { String::new() };
            format!("{} {}{more}", if n == 1 { "job" } else { "jobs" }, jobs.join(", "))
        }
    };
    vec![
        when(row.started, finished.epoch),
        format!("{} {} {to}", row.donor, look.arrow()),
        hosts(&finished.outcome.site, row),
        format!("{} of {}", row.moved, row.targets.len()),
        row.cancelled.to_string(),
        row.open().to_string(),
        took,
        holders,
    ]
}

/// The date if there is one, else seconds.
pub(super) fn when(at: Timestamp, epoch: Option<i64>) -> String {
    epoch.and_then(|epoch| words::date(at, epoch)).unwrap_or_else(|| at.to_string())
}

/// The hosts of a donation as a hostlist, cut where it is long.
fn hosts(site: &Site, row: &DonationRow) -> String {
    let text = super::query::hosts(site.graph(), &row.targets);
    if text.chars().count() <= HOSTS {
        return text;
    }
    let cut: String = text.chars().take(HOSTS - 3).collect();
    format!("{cut}...")
}

/// The jobs that waited longest among those that started.
fn longest_waits(finished: &Finished, look: Look) -> Option<Table> {
    let (book, jobs) = (&finished.outcome.book, finished.workload.jobs());
    let mut waits: Vec<(Duration, usize)> = (0..jobs.len())
        .filter(|slot| !book.start[*slot].is_never())
        .map(|slot| (book.start[slot].since(jobs[slot].submit), slot))
        .filter(|(wait, _)| *wait > Duration::ZERO)
        .collect();
    let longest = |a: &(Duration, usize), b: &(Duration, usize)| b.0.cmp(&a.0).then(a.1.cmp(&b.1));
    if waits.len() > WAITS {
        waits.select_nth_unstable_by(WAITS, longest);
        waits.truncate(WAITS);
    }
    waits.sort_unstable_by(longest);
    if waits.is_empty() {
        return None;
    }
    let mut table = look.table(&["job", "queue", "size", "submitted", "started", "waited"], 6);
    for (wait, slot) in waits {
        let queue = book.queues.get(usize::from(book.queue[slot])).map_or("", |q| &**q);
        table.add_row(vec![
            jobs[slot].id.to_string(),
            queue.to_owned(),
            jobs[slot].size.to_string(),
            when(jobs[slot].submit, finished.epoch),
            when(book.start[slot], finished.epoch),
            length(wait.secs_f64()),
        ]);
    }
    Some(look.fit(table, &[]))
}

fn tail(text: &mut String, finished: &Finished, verdicts: &[Verdict]) -> std::fmt::Result {
    let report = &finished.outcome.report;
    let moved = &report.donations;
    writeln!(text)?;
    if moved.moved + moved.cancelled > 0 {
        writeln!(
            text,
            "Donations    {} nodes moved, {} went back; on their way {} on average, {} at most; {:.0} node-seconds idle, {:.0} lost",
            moved.moved,
            moved.cancelled,
            length(moved.mean_s),
            length(moved.max_s),
            moved.drain_idle_target_s,
            moved.lost_target_s
        )?;
    }
    let loans = &report.loans;
    if loans.lent > 0 {
        let ended = &loans.ended;
        let why = [
            (ended.expired, "in time"),
            (ended.wanted, "for a job of the lender"),
            (ended.unused, "unused"),
            (ended.withdrawn, "by floor, cap or configuration"),
            (ended.recalled, "recalled"),
            (ended.lost, "lost by a switch or stop"),
        ];
        let why: Vec<String> = why.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        let back = if why.is_empty() { "none went back".to_owned() } else { format!("back {}", why.join(", ")) };
        writeln!(
            text,
            "Loans        {} nodes lent, {} at once; {} prolonged; {back}",
            loans.lent, loans.most, loans.prolonged
        )?;
        for (name, borrower) in &loans.borrowers {
            let hours = borrower.target_s / 3600.0;
            let BorrowerFigures { lent, most, .. } = borrower;
            writeln!(text, "Borrowed     {name}: {lent} nodes, {most} at once, {hours:.1} node-hours")?;
        }
    }
    for (at, name, refused) in finished.outcome.switches.iter().take(SWITCHES) {
        let how = refused.as_ref().map_or("done".to_owned(), |why| format!("refused: {why}"));
        writeln!(text, "Switch       {} {name}: {how}", when(*at, finished.epoch))?;
    }
    let rest = finished.outcome.switches.len().saturating_sub(SWITCHES);
    if rest > 0 {
        writeln!(text, "Switch       and {rest} more; --events has all of them")?;
    }
    for (at, queue, gave_up) in &finished.outcome.groups {
        let how = gave_up.as_ref().map_or("got its nodes together".to_owned(), |why| format!("gave up: {why}"));
        writeln!(text, "Group        {} {queue}: {how}", when(*at, finished.epoch))?;
    }
    if let Some(f) = &report.forecast {
        let errors = |e: &Errors| {
            let (median, p90) = (length(e.median_s), length(e.p90_s));
            format!("off by {median} at the median, {p90} at the 90th percentile, {:.0}% too early", e.later * 100.0)
        };
        let wait = length(f.median_wait_s);
        writeln!(text, "Forecasts    {} of starts {wait} ahead (median), made at {} times", f.forecasts, f.samples)?;
        writeln!(text, "  worst      {}", errors(&f.worst))?;
        writeln!(text, "  likely     {}", errors(&f.likely))?;
    }
    let invariants = &report.invariants;
    writeln!(text, "Invariants   {} checks, {} violated", invariants.checked, invariants.violated)?;
    if !verdicts.is_empty() {
        let failed = verdicts.iter().filter(|v| v.failure.is_some()).count();
        writeln!(text, "Expected     {} of {} as expected", verdicts.len() - failed, verdicts.len())?;
    }
    writeln!(text, "Digest       {}", report.digest)?;
    writeln!(text, "Passes       {} in {:.3} s, {:.0} jobs per second", report.passes, report.wall_s, report.jobs_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_few_digits() {
        let cases =
            [(0.0, "0s"), (12.34, "12.3s"), (90.0, "1.5m"), (6_834.6, "1.9h"), (262_194.0, "3d"), (1e9, "11574d")];
        for (seconds, expected) in cases {
            assert_eq!(length(seconds), expected);
        }
    }
}
