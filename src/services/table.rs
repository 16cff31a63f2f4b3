//! The table of parts.

use std::collections::BTreeSet;
use std::fmt;
use thiserror::Error;

/// What a part gives to a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Capability {
    /// The resource graph and its properties.
    Resources,
    /// Queues and policies.
    Configuration,
    /// Jobs.
    Workload,
    /// What happens to nodes by itself.
    NodeEvents,
    /// What administrators do.
    Commands,
    /// Who owns what.
    Coordinator,
    /// One scheduler per queue.
    Schedulers,
    /// What time it is, and when schedulers run.
    Clock,
    /// Figures.
    Metrics,
    /// Who writes down what happens.
    Exporter,
}

impl Capability {
    /// Whether several parts may give it together.
    pub fn may_repeat(self) -> bool {
        match self {
            Capability::Workload | Capability::NodeEvents | Capability::Commands | Capability::Exporter => true,
            Capability::Resources
            | Capability::Configuration
            | Capability::Coordinator
            | Capability::Schedulers
            | Capability::Clock
            | Capability::Metrics => false,
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Capability::Resources => "resources",
            Capability::Configuration => "configuration",
            Capability::Workload => "workload",
            Capability::NodeEvents => "node-events",
            Capability::Commands => "commands",
            Capability::Coordinator => "coordinator",
            Capability::Schedulers => "schedulers",
            Capability::Clock => "clock",
            Capability::Metrics => "metrics",
            Capability::Exporter => "exporter",
        })
    }
}

/// One row: a part that can be had by its name. `A` is the program under construction, `E` what may go wrong.
pub struct Part<A, E> {
    /// Its name, unique in the table.
    pub name: &'static str,
    /// What it gives.
    pub provides: &'static [Capability],
    /// What must have been built before it.
    pub needs: &'static [Capability],
    /// Builds it into the program. A part that is wanted several times is built as often.
    pub build: fn(&mut A) -> Result<(), E>,
}

/// Why a program cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ServiceError<E> {
    /// Two parts of one name.
    #[error("the table of parts has two parts named {0}")]
    Twice(&'static str),
    /// No part of that name.
    #[error("no part is named {wanted}; there are: {known}")]
    Unknown {
        /// The name.
        wanted: String,
        /// All names.
        known: String,
    },
    /// Nothing wanted gives something that is needed.
    #[error("{by} needs {capability}, and no wanted part gives it; these would: {candidates}")]
    Missing {
        /// Who needs it.
        by: String,
        /// What.
        capability: Capability,
        /// The parts that give it.
        candidates: String,
    },
    /// Two parts give what must be unique.
    #[error("{first} and {second} both give {capability}: expected one of them")]
    Conflict {
        /// What.
        capability: Capability,
        /// One.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Parts need each other in a circle.
    #[error("parts need each other in a circle: {0}")]
    Circle(String),
    /// A part could not be built.
    #[error("{part}: {problem}")]
    Build {
        /// Which.
        part: &'static str,
        /// Why.
        problem: Box<E>,
    },
}

/// The parts that there are.
pub struct Table<A, E> {
    parts: Vec<Part<A, E>>,
    demanded: &'static [Capability],
}

impl<A, E> Table<A, E> {
    /// A table of parts for programs that are whole once all of `demanded` is provided.
    ///
    /// # Errors
    /// A name that stands twice.
    pub fn new(parts: Vec<Part<A, E>>, demanded: &'static [Capability]) -> Result<Self, ServiceError<E>> {
        let mut names = BTreeSet::new();
        match parts.iter().find(|p| !names.insert(p.name)) {
            Some(part) => Err(ServiceError::Twice(part.name)),
            None => Ok(Self { parts, demanded }),
        }
    }

    /// The parts, in the order of the table.
    pub fn parts(&self) -> &[Part<A, E>] {
        &self.parts
    }

    /// Builds the wanted parts into `program`: what is needed first, else in the order in which they are wanted.
    ///
    /// # Errors
    /// What is wanted makes no whole, or a part cannot be built.
    pub fn assemble(&self, wanted: &[&str], program: &mut A) -> Result<(), ServiceError<E>> {
        let mut waiting = wanted.iter().map(|name| self.find(name)).collect::<Result<Vec<_>, _>>()?;
        self.check(&waiting)?;
        while !waiting.is_empty() {
            // A part is ready once nothing that still waits gives what it needs.
            let ready = waiting.iter().position(|part| {
                !waiting.iter().any(|other| part.needs.iter().any(|need| other.provides.contains(need)))
            });
            let Some(ready) = ready else {
                let names: Vec<&str> = waiting.iter().map(|p| p.name).collect();
                return Err(ServiceError::Circle(names.join(", ")));
            };
            let part = waiting.remove(ready);
            (part.build)(program)
                .map_err(|problem| ServiceError::Build { part: part.name, problem: Box::new(problem) })?;
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<&Part<A, E>, ServiceError<E>> {
        self.parts
            .iter()
            .find(|p| p.name == name)
            .ok_or_else(|| ServiceError::Unknown { wanted: name.to_owned(), known: self.names(|_| true) })
    }

    fn names(&self, which: impl Fn(&Part<A, E>) -> bool) -> String {
        let names: Vec<&str> = self.parts.iter().filter(|p| which(p)).map(|p| p.name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }

    fn check(&self, wanted: &[&Part<A, E>]) -> Result<(), ServiceError<E>> {
        for (at, part) in wanted.iter().enumerate() {
            let unique = part.provides.iter().filter(|c| !c.may_repeat());
            for capability in unique {
                if let Some(other) = wanted[..at].iter().find(|o| o.provides.contains(capability)) {
                    let (first, second) = (other.name, part.name);
                    return Err(ServiceError::Conflict { capability: *capability, first, second });
                }
            }
        }
        let own = wanted.iter().flat_map(|part| part.needs.iter().map(|need| (part.name, *need)));
        let demanded = self.demanded.iter().map(|need| ("the program", *need));
        for (by, capability) in demanded.chain(own) {
            if !wanted.iter().any(|p| p.provides.contains(&capability)) {
                let candidates = self.names(|p| p.provides.contains(&capability));
                return Err(ServiceError::Missing { by: by.to_owned(), capability, candidates });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Log = Vec<&'static str>;

    fn part(
        name: &'static str,
        provides: &'static [Capability],
        needs: &'static [Capability],
        build: fn(&mut Log) -> Result<(), String>,
    ) -> Part<Log, String> {
        Part { name, provides, needs, build }
    }

    fn table() -> Table<Log, String> {
        use Capability::{Clock, Resources, Schedulers, Workload};
        Table::new(
            vec![
                part("site", &[Schedulers], &[Resources, Workload], |log| {
                    log.push("site");
                    Ok(())
                }),
                part("jobs", &[Workload], &[Resources], |log| {
                    log.push("jobs");
                    Ok(())
                }),
                part("graph", &[Resources], &[], |log| {
                    log.push("graph");
                    Ok(())
                }),
                part("other-graph", &[Resources], &[], |_| Err("no such file".into())),
                part("watch", &[Clock], &[Clock], |_| Ok(())),
            ],
            &[Schedulers],
        )
        .unwrap()
    }

    #[test]
    fn builds_what_is_needed_first_and_repeats_what_may_repeat() {
        let mut log = Log::new();
        table().assemble(&["site", "jobs", "jobs", "graph"], &mut log).unwrap();
        assert_eq!(log, ["graph", "jobs", "jobs", "site"]);
    }

    #[test]
    fn refuses_what_makes_no_whole() {
        let cases: [(&[&str], &str); 6] = [
            (&["sight"], "no part is named sight; there are: site, jobs, graph, other-graph, watch"),
            (&["graph"], "the program needs schedulers, and no wanted part gives it; these would: site"),
            (&["site", "jobs"], "site needs resources, and no wanted part gives it; these would: graph, other-graph"),
            (
                &["site", "jobs", "graph", "other-graph"],
                "graph and other-graph both give resources: expected one of them",
            ),
            (&["site", "jobs", "other-graph"], "other-graph: no such file"),
            (&["site", "jobs", "graph", "watch"], "parts need each other in a circle: watch"),
        ];
        for (wanted, expected) in cases {
            assert_eq!(table().assemble(wanted, &mut Log::new()).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn refuses_a_name_that_stands_twice() {
        let twice = || part("graph", &[Capability::Resources], &[], |_| Ok(()));
        let error = Table::new(vec![twice(), twice()], &[]).err().unwrap();
        assert_eq!(error, ServiceError::Twice("graph"));
    }
}
