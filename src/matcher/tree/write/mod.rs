//! Grants as text, byte for byte as Fluxion writes them.
//!
//! | format | what stands there |
//! |---|---|
//! | [`Simple`](Format::Simple) | a line for each vertex, what is inside before what contains it: `name[needs:x]` or `:s]` |
//! | [`PrettySimple`](Format::PrettySimple) | the same in words and from the root down |
//! | [`Jgf`](Format::Jgf) | one line of JGF: `{"graph": {"nodes": […], "edges": […]}}` |
//! | [`JgfShorthand`](Format::JgfShorthand) | the same without what is inside a vertex that is taken for itself |
//! | [`Rlite`](Format::Rlite) | one line: ranks by equal cores and GPUs |
//! | [`Rv1Nosched`](Format::Rv1Nosched) | one line: R version 1 |
//! | [`Rv1`](Format::Rv1), [`Rv1Shorthand`](Format::Rv1Shorthand) | the same with JGF for schedulers in it |
//!
//! JSON stands as Jansson dumps it: `, ` and `: ` between things, members in the order of insertion. Nothing is made
//! before somebody reads it: a [`Written`] borrows a grant and writes itself wherever it is displayed.
//!
//! Decides what each format shows. Does not decide what is granted. What R says are cores and GPUs below a vertex of
//! kind `node` or `storage_node` that has a rank; the rest is left to JGF. A grant with nothing of that kind gives no R
//! at all.

mod jgf;
mod json;
mod lite;

use super::engine::Engine;
use super::outcome::{Grant, Matched};
use crate::base::{Timestamp, VertexId};
use crate::graph::Graph;
use lite::Lite;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// How a grant is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Indented lines, the root last.
    Simple,
    /// Indented lines, the root first.
    PrettySimple,
    /// JGF.
    Jgf,
    /// JGF without what an exclusive vertex implies.
    JgfShorthand,
    /// Ranks, cores and GPUs.
    Rlite,
    /// R with JGF for schedulers.
    Rv1,
    /// R.
    Rv1Nosched,
    /// R with JGF in shorthand for schedulers.
    Rv1Shorthand,
}

impl Format {
    /// All formats by Fluxion's words.
    pub const WORDS: [(&str, Format); 8] = [
        ("simple", Format::Simple),
        ("pretty_simple", Format::PrettySimple),
        ("jgf", Format::Jgf),
        ("jgf_shorthand", Format::JgfShorthand),
        ("rlite", Format::Rlite),
        ("rv1", Format::Rv1),
        ("rv1_nosched", Format::Rv1Nosched),
        ("rv1_shorthand", Format::Rv1Shorthand),
    ];

    /// The format that Fluxion calls so.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, format)| *format)
    }
}

/// The properties of a vertex as they are now, by name.
pub type PropertiesOf<'a> = &'a dyn Fn(VertexId) -> BTreeMap<String, String>;

/// A grant that writes itself when it is displayed.
#[derive(Clone, Copy)]
pub struct Written<'a> {
    /// How.
    pub format: Format,
    /// The graph that the grant is of.
    pub graph: &'a Graph,
    /// What is granted.
    pub grant: &'a Grant,
    /// The properties of the vertices.
    pub properties: PropertiesOf<'a>,
    /// From when on; R tells whole seconds.
    pub start: Timestamp,
    /// Until when.
    pub end: Timestamp,
    /// The queue that the jobspec names; R with JGF tells it.
    pub queue: Option<&'a str>,
}

impl Engine {
    /// A match as text.
    pub fn written(&self, format: Format, matched: &Matched, queue: Option<&str>) -> String {
        let properties = |v| self.properties(v);
        let Matched { at: start, end, grant, .. } = matched;
        Written { format, graph: self.graph(), grant, properties: &properties, start: *start, end: *end, queue }
            .to_string()
    }
}

impl Written<'_> {
    fn simple(&self, f: &mut impl Write) -> fmt::Result {
        for granted in &self.grant.vertices {
            indent(f, granted.level)?;
            let mode = if granted.exclusive { 'x' } else { 's' };
            writeln!(f, "{}[{}:{mode}]", self.graph.vertex(granted.vertex).name(), granted.needs)?;
        }
        Ok(())
    }

    fn pretty_simple(&self, f: &mut impl Write) -> fmt::Result {
        for granted in self.grant.vertices.iter().rev() {
            indent(f, granted.level)?;
            let mode = if granted.exclusive { "exclusive" } else { "shared" };
            writeln!(f, "{}[{}:{mode}]", self.graph.vertex(granted.vertex).name(), granted.needs)?;
        }
        Ok(())
    }

    fn rv1(&self, f: &mut impl Write, scheduling: Option<bool>) -> fmt::Result {
        let lite = Lite::of(self);
        if lite.is_empty() {
            return Ok(());
        }
        f.write_str(r#"{"version": 1, "execution": {"R_lite": "#)?;
        lite.write(f)?;
        f.write_str(r#", "nodelist": ["#)?;
        json::string(f, &lite.hosts().to_string())?;
        f.write_char(']')?;
        lite.write_properties(f)?;
        write!(f, r#", "starttime": {}, "expiration": {}}}"#, seconds(self.start), seconds(self.end))?;
        if let Some(shorthand) = scheduling {
            f.write_str(r#", "scheduling": "#)?;
            self.jgf(f, shorthand)?;
            if let Some(queue) = self.queue {
                f.write_str(r#", "attributes": {"system": {"scheduler": {"queue": "#)?;
                json::string(f, queue)?;
                f.write_str("}}}")?;
            }
        }
        f.write_str("}\n")
    }
}

fn seconds(time: Timestamp) -> i64 {
    time.micros().div_euclid(1_000_000)
}

fn indent(f: &mut impl Write, level: u32) -> fmt::Result {
    f.write_str("      ")?;
    (0..level).try_for_each(|_| f.write_str("---"))
}

impl fmt::Display for Written<'_> {
    /// Nothing at all for an empty grant; else lines, each with its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.grant.vertices.is_empty() {
            return Ok(());
        }
        match self.format {
            Format::Simple => self.simple(f),
            Format::PrettySimple => self.pretty_simple(f),
            Format::Jgf | Format::JgfShorthand => {
                self.jgf(f, self.format == Format::JgfShorthand)?;
                f.write_char('\n')
            }
            Format::Rlite => {
                let lite = Lite::of(self);
                if lite.is_empty() {
                    return Ok(());
                }
                lite.write(f)?;
                f.write_char('\n')
            }
            Format::Rv1 => self.rv1(f, Some(false)),
            Format::Rv1Nosched => self.rv1(f, None),
            Format::Rv1Shorthand => self.rv1(f, Some(true)),
        }
    }
}

impl fmt::Debug for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written").field("format", &self.format).field("grant", self.grant).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
