//! A short text form of graphs, for fixtures and tests. Ours.
//!
//! ```text
//! # two racks of 16 nodes, flash in the first
//! cluster tiny
//!   rack
//!     node pc[001-016] cores=8 gpus=2 properties=batch,fast
//!     ssd*4 size=739GiB
//!   rack / node pc[017-032] properties=batch / socket*2 / core*4 + memory size=8GB
//! @loose power*2 size=10KW
//! @edge power power0 /tiny/rack0
//! ```
//!
//! **Lines.** A line is one vertex, or many alike. Lines further in than the line before stand below its last vertex,
//! and below each of those if they are many. `/` goes one level down within a line, `+` adds a neighbour to the vertex
//! before it; both stand between spaces. `#` starts a comment. Indentation is by spaces.
//!
//! **Vertices.** `KIND`, `KIND*COUNT` or `KIND[IDSET]`; then, optionally, a hostlist of names; then attributes.
//!
//! - With `[IDSET]` the ids are said. Else a name that ends in digits says it. Else ids count on from the highest of
//!   the kind so far: within the target, or, outside of targets, in the whole text; from 0.
//! - A vertex without a name is called by its basename and id. As many names as vertices, or no count.
//!
//! | attribute | meaning | when absent |
//! |---|---|---|
//! | `cores=N`, `gpus=N` | so many `core` or `gpu` vertices come first below each | none |
//! | `size=N`, `size=NUNIT`, `unit=UNIT` | how much there is, and of what | 1, no unit |
//! | `properties=A,B`, `property=A` | properties (RFC 20) of a target | none |
//! | `rank=N` | a target, of rank N; of many vertices, N is that of the first | a `node`: 1 more than the target before, from 0 |
//! | `rank=none` | a `node` that is no target | |
//! | `host=NAME` | the host of a target | its name |
//! | `id=N` | the id, as `[N]`, but may be negative | |
//! | `basename=WORD` | the name without its number | the kind |
//! | `set.KEY=VALUE` | a property of the vertex (JGF) | |
//! | `path.SUBSYSTEM=PATH` | a path that differs from names joined with slashes | |
//!
//! **Other edges.** `@loose` starts a line of vertices outside containment; nothing stands below them. `@edge
//! SUBSYSTEM FROM TO` is an edge, of `containment` one beside the tree; its ends are paths (`/tiny/rack0`; the first
//! `/` may be left out) or positions in depth-first order, from 0, loose vertices last.
//!
//! **Quotes.** Any word, or part of one, may stand in double quotes, with `\"`, `\\`, `\n`, `\r` and `\t`. A quoted
//! name is one name, whatever is in it.
//!
//! Printing a graph and reading that gives an equal graph, except that targets are numbered anew.

mod parse;
mod print;
mod scan;

use super::GraphError;

/// Why a text is not a graph.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextError {
    /// Something else should stand here.
    #[error("line {line}, column {column}: expected {expected}, found {found}")]
    Unexpected {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The vertices do not make a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}
