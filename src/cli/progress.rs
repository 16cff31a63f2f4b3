//! A progress bar, on a terminal only.

use crate::base::Timestamp;
use crate::replay::observer::Observer;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows how many of the jobs have been submitted.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub fn new(jobs: usize) -> Self {
        let bar = ProgressBar::new(jobs as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} jobs submitted, {per_sec}, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self { bar }
    }
}

impl Observer for Progress {
    fn progress(&mut self, _now: Timestamp, submitted: usize) {
        self.bar.set_position(submitted as u64);
    }

    fn finish(&mut self) -> std::io::Result<()> {
        self.bar.finish_and_clear();
        Ok(())
    }
}
