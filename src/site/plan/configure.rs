//! A whole new configuration, as one event: refused whole or done whole.
//!
//! Decides the order: new queues, then changed ones, then those that are removed, so that pending jobs can go to a new
//! queue. Ownership is looked at once, when all is done: a target that one queue loses and another gets goes straight.
//! Does not change the machine.

use crate::base::Timestamp;
use crate::config::{Calendar, Config, Members, QueueConfig, ResourceConfig};
use crate::site::state::ANONYMOUS;
use crate::site::{Configure, Effect, EventError, Site};
use indexmap::IndexMap;
use std::sync::Arc;

impl Site {
    pub(in crate::site) fn configure(
        &mut self,
        now: Timestamp,
        new: Configure,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let resource = &new.config.resource;
        if *resource != ResourceConfig::default() && *resource != self.config.resource {
            return Err(EventError::OtherMachine);
        }
        let (before, effects_before) = (self.clone(), effects.len());
        let done = self.configure_queues(now, &new, effects);
        if done.is_err() {
            *self = before;
            effects.truncate(effects_before);
        }
        done
    }

    fn configure_queues(
        &mut self,
        now: Timestamp,
        new: &Configure,
        effects: &mut Vec<Effect>,
    ) -> Result<(), EventError> {
        let queues = queues_of(&new.config);
        for is_virtual in [false, true] {
            for queue in queues.values().filter(|q| q.is_virtual() == is_virtual) {
                match self.names.get(queue.name.as_str()) {
                    None => self.queue_create(now, queue.clone(), effects)?,
                    Some(id) if self.queue(*id).config != *queue => self.queue_change(now, queue.clone(), effects)?,
                    Some(_) => {}
                }
            }
        }
        let mut gone: Vec<(bool, Arc<str>)> = self
            .queues
            .iter()
            .filter(|q| q.is_live() && !queues.contains_key(&*q.name))
            .map(|q| (q.parent.is_none(), q.name.clone()))
            .collect();
        // Those that live in others first.
        gone.sort_by_key(|(own, _)| *own);
        for (_, name) in gone {
            self.queue_remove(now, &name, new.pending.as_ref(), effects)?;
        }
        let resource = self.config.resource.clone();
        let old = self.config.clone();
        let calendar = Calendar { origin: old.calendar.origin, entries: new.config.calendar.entries.clone() };
        self.config = Arc::new(Config { resource, calendar, ..new.config.clone() });
        if self.config.calendar != old.calendar {
            self.calendar_changed(now, &old.calendar);
        }
        Ok(())
    }
}

/// The queues of a configuration; of one without any, that which is called `default`.
fn queues_of(config: &Config) -> IndexMap<String, QueueConfig> {
    let mut queues = config.queues.clone();
    if queues.is_empty() {
        let name = ANONYMOUS.to_owned();
        let anonymous = QueueConfig {
            name: name.clone(),
            members: Members::All,
            parent: None,
            policy: config.common_policy(),
            lending: Default::default(),
        };
        queues.insert(name, anonymous);
    }
    queues
}
