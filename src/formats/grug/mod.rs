//! GRUG: a recipe for a resource graph, as GraphML (Fluxion's "generating resources using GraphML").
//!
//! ```text
//! <graphml>
//!   <key id="type" for="node" attr.name="type" attr.type="string"/>
//!   <key id="multi_scale" for="edge" attr.name="multi_scale" attr.type="int"><default>1</default></key>
//!   …
//!   <graph id="tiny" edgedefault="directed">
//!     <node id="cluster"><data key="root">1</data><data key="type">cluster</data>…</node>
//!     <edge id="cluster2rack" source="cluster" target="rack"><data key="multi_scale">4</data></edge>
//!   </graph>
//! </graphml>
//! ```
//!
//! A `node` of the recipe is a [`Pool`], which stands for any number of vertices; an `edge` is a [`Relation`], which
//! makes them ([`Method`]). What an attribute is depends on `attr.name` of its key; `attr.type` is not looked at.
//!
//! | `attr.name`, of a node | when absent, also as `<default>` |
//! |---|---|
//! | `type` | refused |
//! | `basename` | `type` |
//! | `root` | 0; any other number is true |
//! | `size`, `unit` | 1, empty |
//! | `subsystem` | `containment` |
//!
//! | `attr.name`, of an edge | when absent, also as `<default>` |
//! |---|---|
//! | `e_subsystem` | `containment` |
//! | `relation`, `rrelation` | `contains`, `in` |
//! | `gen_method` | `MULTIPLY`; else `ASSOCIATE_IN` or `ASSOCIATE_BY_PATH_IN` |
//! | `multi_scale` | 1 |
//! | `id_scope`, `id_start`, `id_stride` | 0, 0, 1 |
//! | `as_tgt_subsystem`, `as_tgt_uplvl`, `as_src_uplvl` | `containment`, 1, 1 |
//!
//! Decides that the recipe is a forest: a root of each subsystem at most, to every other pool one relation, no circle.
//! Fluxion's reader passes over the second relation to a pool, over pools that it does not reach, and over the second
//! root, without a word; here they are errors. Does not decide how many vertices come out: see
//! [`crate::graph::Graph::from_grug`].

mod read;
mod write;

use super::error::{ParseError, Position};
use super::jgf::CONTAINMENT;
use super::xml::XmlError;

/// A recipe; a forest, see the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grug {
    name: String,
    pools: Vec<Pool>,
    relations: Vec<Relation>,
}

/// What the vertices of one pool have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    /// What relations call it in the file.
    pub id: String,
    /// Whether one vertex of it is made without a relation.
    pub root: bool,
    /// The resource type.
    pub kind: String,
    /// The name before its number.
    pub basename: String,
    /// How many of [`Pool::unit`] each vertex holds.
    pub size: u64,
    /// The unit of the size, often empty.
    pub unit: String,
    /// The subsystem in which new vertices have their path.
    pub subsystem: String,
}

impl Pool {
    /// A pool called after its type, of size 1 in the containment subsystem.
    pub fn new(kind: impl Into<String>) -> Self {
        let kind = kind.into();
        Self {
            id: kind.clone(),
            root: false,
            basename: kind.clone(),
            kind,
            size: 1,
            unit: String::new(),
            subsystem: CONTAINMENT.to_owned(),
        }
    }
}

/// From each vertex of one pool to vertices of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    /// What it is called in the file; may be empty.
    pub id: String,
    /// Position in [`Grug::pools`] of the pool that it starts from.
    pub source: usize,
    /// Position in [`Grug::pools`] of the pool that it leads to.
    pub target: usize,
    /// The subsystem of the edges that it makes.
    pub subsystem: String,
    /// The meaning of an edge, in a word.
    pub relation: String,
    /// The meaning of the edge taken backwards.
    pub reverse: String,
    /// How edges, and perhaps vertices, are made.
    pub method: Method,
}

impl Relation {
    /// `scale` new vertices below each vertex, in the containment subsystem, with ids from 0 for each.
    pub fn multiply(source: usize, target: usize, scale: u32) -> Self {
        Self {
            id: String::new(),
            source,
            target,
            subsystem: CONTAINMENT.to_owned(),
            relation: "contains".to_owned(),
            reverse: "in".to_owned(),
            method: Method::Multiply { scale, ids: IdRule::default() },
        }
    }
}

/// How a relation makes edges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Method {
    /// New vertices.
    Multiply {
        /// How many for each vertex of the source.
        scale: u32,
        /// Their logical ids.
        ids: IdRule,
    },
    /// From each vertex of the source to all vertices there are of the type of the target.
    AssociateIn,
    /// The same, where the paths of both agree when some levels are cut off at the end.
    AssociateByPathIn {
        /// The subsystem of the paths.
        subsystem: String,
        /// Levels cut off the path of the vertex that the edge leads to.
        target_up: u32,
        /// Levels cut off the path of the vertex that it starts from.
        source_up: u32,
    },
}

/// The logical ids of new vertices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdRule {
    /// How many levels up ids are unique: 0 within the vertex they are made for (then [`IdRule::stride`] is not used),
    /// 1 within the one above it, … Negative: no id at all, and the name is the basename alone.
    pub scope: i32,
    /// The first id.
    pub start: i32,
    /// The distance between ids.
    pub stride: i32,
}

impl Default for IdRule {
    fn default() -> Self {
        Self { scope: 0, start: 0, stride: 1 }
    }
}

/// Why a text is no recipe.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GrugError {
    /// Not XML, or not GraphML.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// GraphML, but no recipe that makes a graph.
    #[error("{at}: {why}")]
    Recipe {
        /// Where the pool or relation starts.
        at: Position,
        /// What is wrong with it.
        why: RecipeError,
    },
}

impl From<ParseError> for GrugError {
    fn from(error: ParseError) -> Self {
        XmlError::Content(error).into()
    }
}

/// Why pools and relations are no recipe.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecipeError {
    /// Two pools of one id.
    #[error("expected each pool once, found \"{pool}\" twice")]
    SameId {
        /// Position of the second pool.
        at: usize,
        /// The id.
        pool: String,
    },
    /// A name from which no path can be made.
    #[error("pool \"{pool}\": expected a {what} that is not empty and has no slash, found \"{found}\"")]
    BadName {
        /// Position of the pool.
        at: usize,
        /// Its id.
        pool: String,
        /// `type` or `basename`.
        what: &'static str,
        /// What it is.
        found: String,
    },
    /// A position that is none.
    #[error("relation {at}: expected a position below {pools}, found {found}")]
    NoPool {
        /// Position of the relation.
        at: usize,
        /// How many pools there are.
        pools: usize,
        /// What was found.
        found: usize,
    },
    /// More than one way to a pool, so that it would be made twice.
    #[error("expected one relation to pool \"{pool}\", found a second; give it a pool of its own")]
    SecondRelation {
        /// Position of the second relation.
        at: usize,
        /// Id of the pool.
        pool: String,
    },
    /// A pool that is a root and is not.
    #[error("pool \"{pool}\": expected no relation to a root, found one")]
    RelationToRoot {
        /// Position of the relation.
        at: usize,
        /// Id of the pool.
        pool: String,
    },
    /// Two roots in one subsystem.
    #[error("expected one root in subsystem \"{subsystem}\", found \"{first}\" and \"{second}\"")]
    SecondRoot {
        /// Position of the second root.
        at: usize,
        /// The subsystem.
        subsystem: String,
        /// Id of the first root.
        first: String,
        /// Id of the second.
        second: String,
    },
    /// A pool of which nothing is made.
    #[error("expected a way from a root to pool \"{pool}\", found none")]
    Unreached {
        /// Position of the pool.
        at: usize,
        /// Its id.
        pool: String,
    },
}

impl Grug {
    /// A recipe, if pools and relations are one.
    ///
    /// # Errors
    /// See [`RecipeError`].
    pub fn new(name: impl Into<String>, pools: Vec<Pool>, relations: Vec<Relation>) -> Result<Self, RecipeError> {
        let recipe = Self { name: name.into(), pools, relations };
        recipe.check_pools()?;
        recipe.check_relations()?;
        Ok(recipe)
    }

    /// Reads a recipe from bytes, which need not be UTF-8 (then that is the error).
    ///
    /// # Errors
    /// See [`GrugError`].
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, GrugError> {
        read::parse(text.as_ref())
    }

    /// Writes GraphML, leaving out what equals its default. Reading it again gives an equal recipe.
    pub fn to_graphml(&self) -> String {
        write::to_graphml(self)
    }

    /// The name of the recipe, `id` of its `graph`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The pools in the order of the file.
    pub fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// The relations in the order of the file.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The relations that start from each pool, in the order of the file.
    pub fn relations_by_source(&self) -> Vec<Vec<&Relation>> {
        let mut by_source = vec![Vec::new(); self.pools.len()];
        for relation in &self.relations {
            by_source[relation.source].push(relation);
        }
        by_source
    }

    fn check_pools(&self) -> Result<(), RecipeError> {
        let mut ids = std::collections::HashSet::new();
        let mut roots: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();
        for (at, Pool { id, root, kind, basename, subsystem, .. }) in self.pools.iter().enumerate() {
            let pool = || id.clone();
            if !ids.insert(id) {
                return Err(RecipeError::SameId { at, pool: pool() });
            }
            for (what, found) in [("type", kind), ("basename", basename)] {
                if found.is_empty() || found.contains('/') {
                    return Err(RecipeError::BadName { at, pool: pool(), what, found: found.clone() });
                }
            }
            if *root && let Some(first) = roots.insert(subsystem, id) {
                let (subsystem, first) = (subsystem.clone(), first.to_owned());
                return Err(RecipeError::SecondRoot { at, subsystem, first, second: pool() });
            }
        }
        Ok(())
    }

    fn check_relations(&self) -> Result<(), RecipeError> {
        let pools = self.pools.len();
        let mut led_to = vec![false; pools];
        for (at, &Relation { source, target, .. }) in self.relations.iter().enumerate() {
            if let Some(&found) = [source, target].iter().find(|&&end| end >= pools) {
                return Err(RecipeError::NoPool { at, pools, found });
            }
            let pool = || self.pools[target].id.clone();
            if self.pools[target].root {
                return Err(RecipeError::RelationToRoot { at, pool: pool() });
            }
            if std::mem::replace(&mut led_to[target], true) {
                return Err(RecipeError::SecondRelation { at, pool: pool() });
            }
        }
        let by_source = self.relations_by_source();
        let mut reached: Vec<bool> = self.pools.iter().map(|pool| pool.root).collect();
        let mut open: Vec<usize> = (0..pools).filter(|&pool| reached[pool]).collect();
        while let Some(pool) = open.pop() {
            for relation in &by_source[pool] {
                reached[relation.target] = true;
                open.push(relation.target);
            }
        }
        match reached.iter().position(|reached| !reached) {
            Some(at) => Err(RecipeError::Unreached { at, pool: self.pools[at].id.clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
