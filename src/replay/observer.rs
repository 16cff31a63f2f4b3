//! Who watches a replay: exporters and progress bars.

use crate::base::Timestamp;
use crate::site::{Effect, Event};

/// Told everything that a replay tells the site, and everything that the site answers, in order.
pub trait Observer {
    /// The site is told an event.
    fn event(&mut self, now: Timestamp, event: &Event) {
        let _ = (now, event);
    }

    /// The site has refused the last event.
    fn refused(&mut self, now: Timestamp, error: &str) {
        let _ = (now, error);
    }

    /// The site has answered an effect.
    fn effect(&mut self, now: Timestamp, effect: &Effect) {
        let _ = (now, effect);
    }

    /// So many jobs were submitted, from time to time.
    fn progress(&mut self, now: Timestamp, submitted: usize) {
        let _ = (now, submitted);
    }

    /// The replay is over.
    ///
    /// # Errors
    /// What was watched could not be written.
    fn finish(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
