//! The jobs that never ran to an end, for people: how many, in which queue, and why.

use super::summary::Look;
use crate::replay::assembly::Finished;
use crate::replay::book::JobState;
use crate::replay::words;
use comfy_table::Table;
use indexmap::IndexMap;

/// How many reasons are shown.
const ROWS: usize = 8;
/// How many waiting jobs the schedulers are asked about: that may take them a while.
const ASKED: usize = 200;

/// Jobs that wait or were denied, those of one state, queue and reason in one row, the most first.
pub(super) fn table(finished: &Finished, look: Look) -> Option<Table> {
    let (book, jobs, site) = (&finished.outcome.book, finished.workload.jobs(), &finished.outcome.site);
    let mut rows: IndexMap<(&str, &str, String), (usize, u64)> = IndexMap::new();
    let mut asked = 0;
    for (slot, job) in jobs.iter().enumerate() {
        let state = match book.state[slot] {
            JobState::Denied => "denied",
            JobState::Held => "held",
            JobState::Pending => "pending",
            JobState::Unsubmitted
            | JobState::Running
            | JobState::Completed
            | JobState::Failed
            | JobState::Cancelled => continue,
        };
        let why = match book.state[slot] {
            JobState::Pending if asked == ASKED => Some("there are too many to ask why".to_owned()),
            JobState::Pending => {
                asked += 1;
                site.explain(job.id).map(|why| words::why(&why))
            }
            _ => site.job(job.id).map(|job| words::why(&job.why)),
        };
        let queue = book.queues.get(usize::from(book.queue[slot])).map_or("", |q| &**q);
        rows.entry((state, queue, why.unwrap_or_default())).or_insert((0, job.id.0)).0 += 1;
    }
    if rows.is_empty() {
        return None;
    }
    // Stable: of equal rows, the one whose first job came first.
    rows.sort_by(|_, (a, _), _, (b, _)| b.cmp(a));
    let mut table = look.table(&["state", "queue", "jobs", "such as job", "why"], 5);
    for ((state, queue, why), (count, first)) in rows.iter().take(ROWS) {
        table.add_row([*state, *queue, &count.to_string(), &first.to_string(), why.as_str()]);
    }
    if rows.len() > ROWS {
        let rest: usize = rows.values().skip(ROWS).map(|(count, _)| count).sum();
        let more = format!("and {} more reasons; --events has all of them", rows.len() - ROWS);
        table.add_row(["", "", &rest.to_string(), "", &more]);
    }
    Some(look.fit(table, &[]))
}
