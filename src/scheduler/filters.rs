//! Filters: which targets may serve a request, interned, so that jobs that ask for the same share one bitmap.
//!
//! A filter is a constraint (RFC 31) together with the least that a target must have. Decides nothing about what is
//! free. Only waiting jobs keep a filter alive, so that the classes that filters cut the members into depend on who
//! waits and on nothing that happened before (I8).

use crate::base::FastMap;
use crate::formats::constraint::Constraint;
use crate::graph::{Graph, Properties};
use crate::matcher::{Amount, Request, Shape};
use crate::planner::{Bits, ClassId, Classes};

/// The number of a filter in the table.
pub(super) type FilterId = u32;

/// Targets that may serve.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    key: (Option<Constraint>, Amount),
    users: u32,
    /// The members that pass.
    pub targets: Bits,
    /// How many members pass.
    pub members: u32,
    /// The classes inside it, by their first target.
    pub classes: Vec<ClassId>,
}

/// All filters in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters {
    table: Vec<Option<Filter>>,
    known: FastMap<(Option<Constraint>, Amount), FilterId>,
    members: u32,
}

impl Filters {
    #[inline]
    pub fn get(&self, id: FilterId) -> &Filter {
        self.table[id as usize].as_ref().expect("a filter in use")
    }

    /// The filter of a request; whether it is new, so that the classes have to be split by it.
    pub fn intern(
        &mut self,
        request: &Request,
        graph: &Graph,
        properties: &Properties,
        members: &Bits,
    ) -> (FilterId, bool) {
        let at_least = match &request.shape {
            Shape::Whole { at_least, .. } => *at_least,
            Shape::Nodes { slot, .. } | Shape::Slots { slot, .. } => *slot,
        };
        let key = (request.constraint.clone(), at_least);
        if let Some(id) = self.known.get(&key) {
            self.table[*id as usize].as_mut().expect("a known filter").users += 1;
            return (*id, false);
        }
        let mut filter = Filter { key: key.clone(), users: 1, targets: Bits::default(), members: 0, classes: vec![] };
        filter.resolve(graph, properties, members);
        let id = self.table.iter().position(Option::is_none).unwrap_or_else(|| {
            self.table.push(None);
            self.table.len() - 1
        });
        self.table[id] = Some(filter);
        self.known.insert(key, id as FilterId);
        (id as FilterId, true)
    }

    /// One job less uses a filter; whether that leaves one that nobody uses and that cuts classes.
    pub fn release(&mut self, id: FilterId) -> bool {
        let members = self.members;
        let filter = self.table[id as usize].as_mut().expect("a filter in use");
        filter.users -= 1;
        let idle = filter.users == 0;
        if idle && filter.members == 0 {
            // Such as a denied job leaves: it cuts nothing, and there is no end to their number.
            let gone = self.table[id as usize].take().expect("a filter in use");
            self.known.remove(&gone.key);
            return false;
        }
        idle && filter.members < members
    }

    /// Drops the filters that nobody uses, but for those that cut nothing.
    pub fn tidy(&mut self) {
        for entry in &mut self.table {
            let idle = |f: &mut Filter| f.users == 0 && f.members > 0 && f.members < self.members;
            if let Some(filter) = entry.take_if(idle) {
                self.known.remove(&filter.key);
            }
        }
    }

    /// Reads all filters anew after members, properties or the graph have changed.
    pub fn resolve_all(&mut self, graph: &Graph, properties: &Properties, members: &Bits) {
        self.members = members.len() as u32;
        self.table.iter_mut().flatten().for_each(|f| f.resolve(graph, properties, members));
    }

    /// The bitmaps of all filters.
    pub fn bitmaps(&self) -> impl Iterator<Item = &Bits> {
        self.table.iter().flatten().map(|f| &f.targets)
    }

    /// Writes down for each filter the classes inside it.
    pub fn assign_classes(&mut self, classes: &Classes) {
        for filter in self.table.iter_mut().flatten() {
            filter.classes = classes.within(&filter.targets);
            filter.classes.sort_by_key(|c| classes.targets(*c).iter().next());
        }
    }
}

impl Filter {
    fn resolve(&mut self, graph: &Graph, properties: &Properties, members: &Bits) {
        let (constraint, at_least) = &self.key;
        self.targets = match constraint {
            None => members.clone(),
            Some(constraint) => {
                // A constraint nested beyond reason cannot be read from any text; nothing satisfies it.
                let targets = graph.resolve(properties, constraint).unwrap_or_default();
                let mut targets = Bits::from_set(&targets, graph.target_bound());
                targets.and(members);
                targets
            }
        };
        if *at_least != Amount::default() {
            let fits = |t| graph.target(t).is_some_and(|x| x.cores() >= at_least.cores && x.gpus() >= at_least.gpus);
            let small: Vec<_> = self.targets.iter().filter(|t| !fits(*t)).collect();
            small.into_iter().for_each(|t| self.targets.remove(t));
        }
        self.members = self.targets.len() as u32;
    }
}
