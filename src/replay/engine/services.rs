//! Schedulers that are programs, and services that come and go while a replay runs.
//!
//! Decides nothing about jobs: carries messages. Time stands still while a program thinks: what it is asked at an instant it
//! answers at that instant.

use super::Engine;
use crate::config::{Profiles, QueuePolicy, SchedulerSettings};
use crate::scheduler::wire::{Said, Told};
use crate::services::{Registry, Wanted};
use crate::site::{Effect, Event, SchedulerChange, Site};
use std::sync::Arc;

/// Something that is done to a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceDeed {
    /// It is started.
    Load,
    /// It is stopped.
    Unload,
    /// Another takes over: a profile, a queue policy, or a provider.
    Swap(String),
}

impl Engine<'_> {
    pub(super) fn launch_scheduler(&mut self, queue: &Arc<str>, instance: u64, provider: &str) {
        if let Err(why) = self.programs.launch(queue, instance, provider) {
            self.lost.push((queue.clone(), instance, why));
        }
    }

    pub(super) fn tell_scheduler(&mut self, queue: &Arc<str>, instance: u64, told: &Told) {
        if let Err(why) = self.programs.tell(queue, instance, told) {
            self.lost.push((queue.clone(), instance, why));
        }
    }

    /// Passes on what one scheduler says that the site waits for, or that one is no more; false if there is nothing.
    pub(super) fn hear_schedulers(&mut self, effects: &mut Vec<Effect>) -> bool {
        let lost = (!self.lost.is_empty()).then(|| self.lost.remove(0));
        let event = match lost
            .or_else(|| self.site.awaited_scheduler().map(|(queue, instance)| (queue, instance, String::new())))
        {
            None => return false,
            Some((queue, instance, why)) if !why.is_empty() => {
                Event::SchedulerLost { queue: queue.to_string(), instance, why }
            }
            Some((queue, instance, _)) => match self.programs.hear(&queue, instance) {
                Ok(said) => {
                    self.passes += u64::from(matches!(said, Said::Done { .. }));
                    Event::SchedulerSays { queue: queue.to_string(), instance, said }
                }
                Err(why) => Event::SchedulerLost { queue: queue.to_string(), instance, why },
            },
        };
        self.observers.iter_mut().for_each(|o| o.event(self.now, &event));
        if let Some(audit) = &mut self.audit {
            audit.event(&event);
        }
        if let Err(error) = self.site.apply(self.now, event, effects) {
            let (at, what) = (self.now, "what a scheduler said".to_owned());
            self.failed = Some(super::ReplayError::Refused { at, what, source: error });
        }
        self.take_effects(effects);
        true
    }

    /// Takes note of services that came and went.
    pub(super) fn services_changed(&mut self, queue: &Arc<str>, what: &str) {
        let service = format!("sched@{queue}");
        let running = &mut self.options.services;
        let change = match what {
            "swapped" => {
                let settings = self.site.queue_config(queue).map(|c| &c.policy.scheduler);
                let provider = provider_of(settings.and_then(|s| s.provider.as_deref()), queue);
                running.make(queue);
                running.swap(&service, &provider)
            }
            "removed" | "scheduler-unloaded" => running.unload(&service),
            "scheduler-loaded" => running.load(&Wanted { names: vec![service], force: Vec::new() }),
            _ => return,
        };
        // What the site has done is done, whatever the rules say: they were asked before.
        if let Ok(change) = change {
            running.enter(&change);
        }
    }

    /// Does something to a service, if the rules let it be.
    pub(super) fn service(&mut self, service: &str, deed: &ServiceDeed) -> Result<(), String> {
        let running = &mut self.options.services;
        let Some(queue) = service.strip_prefix("sched@").map(str::to_owned) else {
            let change = match deed {
                ServiceDeed::Unload => running.unload(service),
                ServiceDeed::Load => running.load(&Wanted { names: vec![service.to_owned()], force: Vec::new() }),
                ServiceDeed::Swap(to) => running.swap(service, to),
            };
            let change = change.map_err(|e| e.to_string())?;
            let problem =
                format!("{service} is made when a replay is put together: only sched@QUEUE comes and goes in it");
            return if change.is_empty() { Ok(()) } else { Err(problem) };
        };
        running.make(&queue);
        let change = match deed {
            ServiceDeed::Unload => {
                let _ = running.unload(service).map_err(|e| e.to_string())?;
                SchedulerChange::Unload
            }
            ServiceDeed::Load => {
                let wanted = Wanted { names: vec![service.to_owned()], force: Vec::new() };
                let _ = running.load(&wanted).map_err(|e| e.to_string())?;
                SchedulerChange::Load
            }
            ServiceDeed::Swap(to) => {
                let settings = self
                    .site
                    .queue_config(&queue)
                    .map(|c| &c.policy.scheduler)
                    .ok_or_else(|| format!("no queue {queue}"))?;
                let settings = chosen(to, settings, self.site.profiles(), Some(running.registry()))?;
                let provider = provider_of(settings.provider.as_deref(), &queue);
                let _ = running.swap(service, &provider).map_err(|e| e.to_string())?;
                SchedulerChange::Swap(Box::new(settings))
            }
        };
        self.try_tell(Event::Scheduler { queue, change })
    }
}

/// What a deed means for the site, where it is not known which programs there are.
///
/// # Errors
/// It is no scheduler, or the queue is not there.
pub(crate) fn service_event(service: &str, deed: &ServiceDeed, site: &Site) -> Result<Event, String> {
    let queue = service.strip_prefix("sched@").ok_or("only sched@QUEUE comes and goes while a site runs")?;
    let change = match deed {
        ServiceDeed::Load => SchedulerChange::Load,
        ServiceDeed::Unload => SchedulerChange::Unload,
        ServiceDeed::Swap(to) => {
            let config = site.queue_config(queue).ok_or_else(|| format!("no queue {queue}"))?;
            SchedulerChange::Swap(Box::new(chosen(to, &config.policy.scheduler, site.profiles(), None)?))
        }
    };
    Ok(Event::Scheduler { queue: queue.to_owned(), change })
}

/// The settings of a queue with what was chosen: a profile, a queue policy of ours, or a provider.
fn chosen(
    to: &str,
    before: &SchedulerSettings,
    profiles: &Profiles,
    registry: Option<&Registry>,
) -> Result<SchedulerSettings, String> {
    let ours = SchedulerSettings { provider: None, ..before.clone() };
    if to == "builtin" {
        return Ok(ours);
    }
    if let Some(settings) = profiles.over(to, &ours) {
        return Ok(settings);
    }
    if let Ok(queue_policy) = to.parse::<QueuePolicy>() {
        return Ok(SchedulerSettings { queue_policy, ..ours });
    }
    let template = format!("{}@", to.trim_end_matches('@'));
    let Some(registry) = registry else {
        return Ok(SchedulerSettings { provider: Some(to.trim_end_matches('@').to_owned()), ..before.clone() });
    };
    match registry.rule_of(&template).filter(|rule| rule.serves("sched@")) {
        Some(_) => Ok(SchedulerSettings { provider: Some(to.trim_end_matches('@').to_owned()), ..before.clone() }),
        None => {
            let all = registry.rules().iter().filter(|rule| rule.serves("sched@"));
            let all: Vec<&str> = all.map(|rule| rule.name.trim_end_matches('@')).collect();
            let (policies, profiles) = (QueuePolicy::NAMES.join(", "), profiles.names().collect::<Vec<_>>().join(", "));
            let providers = all.join(", ");
            Err(format!(
                "nothing called {to} can schedule: there are the profiles {profiles}, the policies {policies}, and {providers}"
            ))
        }
    }
}

/// The service that schedules a queue.
fn provider_of(provider: Option<&str>, queue: &str) -> String {
    format!("{}@{queue}", provider.unwrap_or("sched-builtin"))
}
