//! What preemption cost, as a table of the summary of a replay.
//!
//! Decides what a person wants to see of it; the figures are those of `--json`.

use super::summary::Look;
use crate::replay::assembly::Finished;
use comfy_table::Table;

/// The queues whose jobs had to give way; none if there are none.
pub(super) fn table(finished: &Finished, look: Look) -> Option<Table> {
    let queues = &finished.outcome.report.preemption.queues;
    if queues.is_empty() {
        return None;
    }
    let header = ["queue", "gave way", "put back", "over", "completed in time", "lost node-s"];
    let mut table = look.table(&header, 1);
    for (name, figures) in queues {
        let counts = [figures.jobs, figures.requeued, figures.cancelled, figures.completed];
        let mut row = vec![name.clone()];
        row.extend(counts.iter().map(u64::to_string));
        row.push(format!("{:.0}", figures.lost_node_s));
        table.add_row(row);
    }
    Some(look.fit(table, &["completed in time"]))
}
