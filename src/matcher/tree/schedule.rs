//! The operations on a request: now, now or later, never.

use super::commit::{Allocation, Kind};
use super::engine::Engine;
use super::error::{MatchError, MatchFailure};
use super::options::Traverser;
use super::outcome::{Grant, Matched, Mode, Operation, Visits};
use super::select::{Choice, LEAD, Purpose, Query, Trace, Walk};
use super::types::{self, Needs, Spec, Ty};
use super::variants;
use crate::base::{JobId, Timestamp, VertexId};
use crate::formats::constraint::Constraint;
use crate::formats::jobspec::Jobspec;
use crate::graph::KindId;

/// A request in the engine's terms.
struct Request<'a> {
    /// Alternatives, in order of preference; one, but for `xor_slot`.
    variants: Vec<Vec<Spec>>,
    /// The least that is needed in all.
    needs: Needs,
    constraint: Option<&'a Constraint>,
    whole: Vec<bool>,
    now: i64,
    length: i64,
}

/// Why there is no match at one time or at none.
enum No {
    Busy,
    Unsatisfiable,
    /// What Fluxion answers when the last thing that it came upon makes no sense.
    Invalid,
}

impl Engine {
    /// Answers a request for a job that is to start at `at` or later. A failure changes nothing.
    ///
    /// # Errors
    /// [`MatchFailure`] with the reason and the visits.
    pub fn match_job(
        &mut self,
        operation: Operation,
        job: JobId,
        at: Timestamp,
        spec: &Jobspec,
    ) -> Result<Matched, MatchFailure> {
        let mut complaint = String::new();
        if !self.options.compat {
            self.visits = Visits::default();
        }
        let result = match self.match_fast(operation, job, at, spec) {
            Some(answer) => answer,
            None => {
                self.enter_all();
                self.run(operation, job, at, spec, &mut complaint)
            }
        };
        result.map_err(|error| MatchFailure { error, complaint, visits: self.visits })
    }

    fn run(
        &mut self,
        operation: Operation,
        job: JobId,
        at: Timestamp,
        spec: &Jobspec,
        complaint: &mut String,
    ) -> Result<Matched, MatchError> {
        let request = self.request(at, spec)?;
        if !operation.is_question() && self.knows(job) {
            return Err(MatchError::Invalid { reason: format!("job {job} holds something already") });
        }
        if !self.options.compat {
            for job in self.put_off_overruns(request.now) {
                self.tell_index(job);
            }
        }
        if operation == Operation::Satisfiability {
            return match self.ever(&request, complaint) {
                Some(_) => {
                    Ok(Matched { at, end: at, mode: Mode::Matched, grant: Grant::default(), visits: self.visits })
                }
                None => Err(self.unsatisfiable(&request)),
            };
        }
        self.trace = Trace::None;
        let (from, choice) = match self.earliest(operation, &request, complaint) {
            Ok(found) => found,
            Err(No::Busy) => return Err(MatchError::Busy),
            Err(No::Unsatisfiable) => return Err(self.unsatisfiable(&request)),
            Err(No::Invalid) => return Err(MatchError::Invalid { reason: "Invalid argument".to_owned() }),
        };
        if from >= self.horizon() {
            return Err(MatchError::Busy);
        }
        let until = from.saturating_add(request.length).min(self.horizon());
        let kind = match operation {
            Operation::WithoutAllocating | Operation::WithoutAllocatingFuture => Kind::Question,
            _ if from > request.now => Kind::Reservation,
            _ => Kind::Allocation,
        };
        let allocation = Allocation { job, now: Some(request.now), from, until, kind, planned: false };
        let grant = self.commit(&choice, allocation, &request.whole);
        if grant.vertices.is_empty() {
            let reason = "nothing is asked for by a slot or exclusively, so nothing would be held".to_owned();
            return Err(match self.trace {
                Trace::Never if self.options.compat => self.unsatisfiable(&request),
                // Where no trace tells, Fluxion's answer depends on what the process did before.
                _ if self.options.compat => MatchError::Busy,
                _ => MatchError::Invalid { reason },
            });
        }
        if kind != Kind::Question {
            self.tell_index(job);
        }
        let mode = match kind {
            Kind::Question => Mode::Matched,
            Kind::Reservation => Mode::Reserved,
            Kind::Allocation => Mode::Allocated,
        };
        Ok(Matched { at: self.timestamp(from), end: self.timestamp(until), mode, grant, visits: self.visits })
    }

    fn request<'a>(&self, at: Timestamp, spec: &'a Jobspec) -> Result<Request<'a>, MatchError> {
        let invalid = |reason: &str| MatchError::Invalid { reason: reason.to_owned() };
        let now = self.ticks(at);
        if spec.resources.is_empty() || now < 0 || now >= self.horizon() {
            return Err(invalid("expected resources and a time within the life of the graph"));
        }
        let length = match spec.attributes.system.duration {
            None => self.horizon(),
            Some(limit) if limit.is_infinite() => self.horizon(),
            Some(limit) if self.options.compat => {
                limit.micros().div_euclid(1_000_000) + i64::from(limit.micros() % 1_000_000 > 0)
            }
            Some(limit) => limit.micros().max(1),
        };
        if length > self.horizon() {
            return Err(invalid("expected a duration within the life of the graph"));
        }
        let mut specs = types::compile(&self.types, &spec.resources, self.options.compat)?;
        let mixed = self.options.traverser == Traverser::Flexible;
        let mut needs = Needs::new();
        types::prime(&mut specs, &|ty| self.filters.is_counted(ty), mixed, &mut needs);
        let mut whole = vec![false; self.types.len()];
        whole[Ty::NODE.index()] = self.options.policy.is_node_exclusive();
        note_exclusive(&specs, &mut whole);
        let variants =
            if mixed { variants::expand(&specs).ok_or_else(|| invalid("too many alternatives"))? } else { vec![specs] };
        let constraint = spec.attributes.system.constraints.as_ref();
        Ok(Request { variants, needs, constraint, whole, now, length })
    }

    /// Matches at one time. Counts visits: as the first of this request, or on top.
    fn select(
        &mut self,
        request: &Request<'_>,
        from: i64,
        purpose: Purpose,
        complaint: &mut String,
    ) -> (Option<Choice>, Visits) {
        let until = from.saturating_add(request.length);
        let query =
            Query { now: request.now, from, until, purpose, constraint: request.constraint, whole: &request.whole };
        let mut visits = Visits::default();
        for specs in &request.variants {
            let mut walk = Walk::new(self, query);
            let found = walk.select(specs);
            let Walk { choice, trace, complaint: words, visits: walked, .. } = walk;
            self.trace = trace;
            complaint.push_str(&words);
            if self.options.compat {
                visits = walked;
            } else {
                visits.preorder += walked.preorder;
                visits.postorder += walked.postorder;
            }
            if found {
                return (Some(choice), visits);
            }
        }
        (None, visits)
    }

    fn add_visits(&mut self, visits: Visits) {
        self.visits.preorder += visits.preorder;
        self.visits.postorder += visits.postorder;
    }

    /// Whether the request could be matched if nothing were planned and everything up.
    fn ever(&mut self, request: &Request<'_>, complaint: &mut String) -> Option<Choice> {
        let (found, visits) = self.select(request, self.far(request), Purpose::Ever, complaint);
        self.visits = visits;
        found
    }

    /// A time after all that is planned.
    fn far(&self, request: &Request<'_>) -> i64 {
        if self.options.compat { i64::MAX - request.length - 1 } else { super::engine::after_all() }
    }

    /// The earliest time at which an operation may start the request, and what it gets then.
    fn earliest(
        &mut self,
        operation: Operation,
        request: &Request<'_>,
        complaint: &mut String,
    ) -> Result<(i64, Choice), No> {
        if self.options.compat {
            self.may_be_feasible(operation, request)?;
        }
        if self.options.compat || self.root_has(request, request.now) {
            let (found, visits) = self.select(request, request.now, Purpose::Now, complaint);
            if !self.options.compat {
                self.add_visits(visits);
            }
            if let Some(choice) = found {
                if self.options.compat {
                    self.visits = visits;
                }
                return Ok((request.now, choice));
            }
        }
        match operation {
            Operation::Allocate | Operation::WithoutAllocating | Operation::Satisfiability => Err(No::Busy),
            Operation::AllocateWithSatisfiability => Err(self.busy_or_never(request, complaint)),
            Operation::AllocateOrElseReserve | Operation::WithoutAllocatingFuture => {
                self.later(operation, request, complaint)
            }
        }
    }

    fn busy_or_never(&mut self, request: &Request<'_>, complaint: &mut String) -> No {
        self.trace = Trace::Busy;
        let (found, visits) = self.select(request, self.far(request), Purpose::Ever, complaint);
        self.add_visits(visits);
        self.no(found.is_some())
    }

    /// Busy or never. Where it could be, Fluxion answers with what the search complained of last.
    fn no(&self, could_be: bool) -> No {
        match self.trace {
            Trace::Invalid if self.options.compat => No::Invalid,
            Trace::Never if self.options.compat => No::Unsatisfiable,
            _ if could_be => No::Busy,
            _ => No::Unsatisfiable,
        }
    }

    fn later(
        &mut self,
        operation: Operation,
        request: &Request<'_>,
        complaint: &mut String,
    ) -> Result<(i64, Choice), No> {
        // Fluxion's question stays one about now, but for the time.
        let purpose = match operation {
            Operation::WithoutAllocatingFuture => Purpose::Now,
            _ => Purpose::Later,
        };
        if !self.options.compat {
            // If not even when all jobs are gone, then because of what is down, or never.
            let (found, visits) = self.select(request, self.far(request), purpose, complaint);
            self.add_visits(visits);
            if found.is_none() {
                return Err(self.busy_or_never(request, complaint));
            }
        }
        let root = self.topology.roots[LEAD];
        let first = self.filters.at(self.ty(root)).first();
        let first_need = first.and_then(|ty| request.needs.get(ty)).copied().unwrap_or(0);
        let points: Vec<i64> = self.points(root).filter(|&at| at > request.now).collect();
        for at in points {
            if !self.index_gives(root, at, first_need) || !self.root_has(request, at) {
                continue;
            }
            let (found, visits) = self.select(request, at, purpose, complaint);
            self.add_visits(visits);
            if let Some(choice) = found {
                return Ok((at, choice));
            }
        }
        self.trace = Trace::Busy;
        let (found, _) = self.select(request, self.far(request), Purpose::Ever, complaint);
        Err(self.no(found.is_some()))
    }

    /// The times at which something starts or ends that the filter of the root counts.
    fn points(&self, root: VertexId) -> Box<dyn Iterator<Item = i64> + '_> {
        match self.plan(root) {
            None => Box::new(std::iter::empty()),
            Some(plan) => match plan.below.first() {
                Some(steps) if self.options.compat => Box::new(steps.points_from(0)),
                _ => Box::new(plan.jobs.points_from(0)),
            },
        }
    }

    /// Whether the filter of the root has what the request needs in all.
    fn root_has(&self, request: &Request<'_>, from: i64) -> bool {
        let root = self.topology.roots[LEAD];
        if !self.has_filter(root) {
            return true;
        }
        let until = from.saturating_add(request.length);
        self.filters.at(self.ty(root)).iter().enumerate().all(|(position, ty)| {
            request.needs.get(ty).is_none_or(|&need| self.free_below(root, position, from, until) >= need)
        })
    }

    /// Fluxion's quick look at nodes before it searches; it takes nodes that are down for nodes that are not there.
    fn may_be_feasible(&self, operation: Operation, request: &Request<'_>) -> Result<(), No> {
        let wanted = request.needs.get(&Ty::NODE).copied().unwrap_or(0);
        if request.constraint.is_none() && wanted <= self.nodes_up {
            return Ok(());
        }
        let satisfiability = operation == Operation::AllocateWithSatisfiability;
        let no = || if satisfiability { No::Unsatisfiable } else { No::Busy };
        if wanted > self.nodes_up {
            return Err(no());
        }
        let at = match operation {
            Operation::Allocate | Operation::WithoutAllocating => request.now,
            _ => self.horizon() - 1,
        };
        let nodes = self.graph.of_kind(KindId::NODE);
        if nodes.is_empty() {
            return Ok(());
        }
        let feasible = nodes.iter().filter(|&&v| {
            request.constraint.is_none_or(|constraint| self.satisfies(v, constraint))
                && (satisfiability || !self.down.contains(&v))
                && self.free(v, at, at.saturating_add(request.length)) == 1
        });
        let found = feasible.take(wanted.max(0) as usize).count() as i64;
        if found < wanted { Err(no()) } else { Ok(()) }
    }

    /// Says what is lacking.
    fn unsatisfiable(&self, request: &Request<'_>) -> MatchError {
        let root = self.topology.roots[LEAD];
        let lacking = self.filters.at(self.ty(root)).iter().enumerate().find_map(|(position, ty)| {
            let need = *request.needs.get(ty)?;
            let total = self.filters.total(&self.graph, &self.types, root, position);
            (need > total).then(|| format!("{need} of {} are needed, there are {total}", self.types.name(*ty)))
        });
        let reason = lacking.unwrap_or_else(|| "no place has what is asked for together".to_owned());
        MatchError::Unsatisfiable { reason }
    }
}

fn note_exclusive(specs: &[Spec], whole: &mut [bool]) {
    for spec in specs {
        if spec.exclusive == Some(true) {
            whole[spec.ty.index()] = true;
        }
        note_exclusive(&spec.with, whole);
    }
}
