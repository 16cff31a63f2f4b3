//! The engine itself: the graph, what changes beside it, and what is planned.

use super::error::{CancelError, EngineError, FindError, MatchError, MatchFailure, UpdateError};
use super::find::Find;
use super::options::Options;
use super::outcome::{CancelPart, Cancelled, Grant, Matched, Operation, Source, Status, Visits};
use crate::base::{Duration, JobId, Timestamp, VertexId};
use crate::formats::idset::Idset;
use crate::formats::jgf::Jgf;
use crate::formats::jobspec::Jobspec;
use crate::graph::Graph;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A resource graph with everything that is planned on it.
#[derive(Clone, Debug)]
pub struct Engine {
    graph: Arc<Graph>,
    options: Options,
}

impl Engine {
    /// An engine in which everything is up and free.
    ///
    /// # Errors
    /// [`EngineError::NoRoot`] where the graph lacks a subsystem.
    pub fn new(graph: Arc<Graph>, options: Options) -> Result<Self, EngineError> {
        Ok(Self { graph, options })
    }

    /// The present version of the graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// What the engine was built with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Answers a request for a job that is to start at `at` or later. A failure changes nothing.
    ///
    /// # Errors
    /// [`MatchFailure`] with the reason and the visits.
    pub fn match_job(
        &mut self,
        _operation: Operation,
        _job: JobId,
        _at: Timestamp,
        _spec: &Jobspec,
    ) -> Result<Matched, MatchFailure> {
        let error = MatchError::Invalid { reason: "not supported yet".to_owned() };
        Err(MatchFailure { error, complaint: String::new(), visits: Visits::default() })
    }

    /// Takes over an allocation that comes from outside: from `at` on if that is 0, else a reservation by that name.
    ///
    /// # Errors
    /// See [`UpdateError`]; then nothing is changed.
    pub fn update(
        &mut self,
        job: JobId,
        _at: Timestamp,
        _duration: Duration,
        _source: Source<'_>,
    ) -> Result<Matched, UpdateError> {
        Err(UpdateError::KnownJob(job))
    }

    /// Gives back all that a job holds.
    ///
    /// # Errors
    /// [`CancelError::UnknownJob`].
    pub fn cancel(&mut self, job: JobId) -> Result<Cancelled, CancelError> {
        Err(CancelError::UnknownJob(job))
    }

    /// Gives back a part of what a job holds; with the last part that has a rank goes what has none.
    ///
    /// # Errors
    /// See [`CancelError`].
    pub fn cancel_part(&mut self, job: JobId, _part: CancelPart<'_>) -> Result<Cancelled, CancelError> {
        Err(CancelError::UnknownJob(job))
    }

    /// The vertices that satisfy a condition, with all that contain them. `now` is the time that counts of filters
    /// are asked for.
    ///
    /// # Errors
    /// [`FindError::NoSpan`].
    pub fn find(&self, _condition: &Find, _now: Timestamp) -> Result<Grant, FindError> {
        Ok(Grant::default())
    }

    /// All vertices with a path, of any subsystem, in order.
    pub fn vertices_at(&self, path: &str) -> Vec<VertexId> {
        self.graph.by_path(path).into_iter().collect()
    }

    /// Marks the vertices with a path, and with them all inside, as taking new work or not.
    ///
    /// # Errors
    /// [`EngineError::UnknownPath`].
    pub fn set_status(&mut self, path: &str, _status: Status) -> Result<(), EngineError> {
        Err(EngineError::UnknownPath { path: path.to_owned() })
    }

    /// Marks ranks as taking new work or not; ranks that are not there are passed over.
    pub fn set_status_of_ranks(&mut self, _ranks: &Idset, _status: Status) {}

    /// The mark of the vertex itself; what contains it may be down all the same.
    pub fn status(&self, _v: VertexId) -> Status {
        Status::Up
    }

    /// The properties of a vertex: those of the graph, and those set since.
    pub fn properties(&self, v: VertexId) -> BTreeMap<String, String> {
        self.graph.vertex(v).properties().clone()
    }

    /// Gives a vertex a property.
    pub fn set_property(&mut self, _v: VertexId, _name: &str, _value: &str) {}

    /// Takes a property from a vertex; false if it did not have it.
    pub fn remove_property(&mut self, _v: VertexId, _name: &str) -> bool {
        false
    }

    /// Lays a graph over the present one.
    ///
    /// # Errors
    /// [`EngineError::Graph`].
    pub fn attach(&mut self, addition: &Jgf) -> Result<(), EngineError> {
        let (addition, _) = Graph::from_jgf(addition)?;
        self.graph = Arc::new(self.graph.extend(&addition)?.graph);
        Ok(())
    }

    /// Takes the vertex with a path away, and all inside. Jobs keep what they hold elsewhere.
    ///
    /// # Errors
    /// [`EngineError::UnknownPath`], [`EngineError::RemovesRoot`].
    pub fn remove(&mut self, path: &str) -> Result<(), EngineError> {
        Err(EngineError::UnknownPath { path: path.to_owned() })
    }

    /// Takes ranks away, and with them what jobs hold there.
    ///
    /// # Errors
    /// [`EngineError::UnknownRank`].
    pub fn remove_ranks(&mut self, ranks: &Idset) -> Result<(), EngineError> {
        match ranks.iter().next() {
            Some(rank) => Err(EngineError::UnknownRank { rank }),
            None => Ok(()),
        }
    }
}
