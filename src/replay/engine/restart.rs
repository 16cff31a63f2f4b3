//! A site that ends in the middle and goes on from its own record, as after a crash: what follows must be as if it had not.

use super::{Engine, ReplayError};
use crate::site::{Event, Site, SiteOptions, Snapshot};

impl Engine<'_> {
    /// Lets the site end and go on, if it is time to.
    pub(super) fn restart_if_due(&mut self) -> Result<(), ReplayError> {
        let Some(every) = self.options.restart_every.filter(|_| self.now >= self.next_restart) else { return Ok(()) };
        self.next_restart = self.now + every;
        let at = self.now;
        let wrong = |problem: String| ReplayError::Restart { at, problem };
        let text = serde_json::to_string(&self.site.snapshot()).map_err(|error| wrong(error.to_string()))?;
        let snapshot: Snapshot = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let (graph, properties) = (self.site.graph().clone(), self.site.properties().clone());
        let options = SiteOptions { check_ledger: self.options.check, annotate: false };
        let mut effects = Vec::new();
        let site = Site::restore(snapshot, graph, properties, options, &mut effects);
        self.site = site.map_err(|error| wrong(error.to_string()))?;
        // What was started for the old one speaks to nobody.
        self.programs.end_all();
        self.take_effects(&mut effects);
        self.must_tell(Event::HelloDone);
        Ok(())
    }
}
