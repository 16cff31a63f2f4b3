//! Find expressions: which vertices to show, by status, use, job, name or property.
//!
//! The language is Fluxion's. A predicate is `name=value` without blanks:
//!
//! | predicate | true for a vertex |
//! |---|---|
//! | `status=up`, `status=down` | that can, cannot take work |
//! | `sched-now=allocated`, `sched-now=free` | that some job holds now, none holds |
//! | `sched-future=reserved`, `sched-future=free` | that some job has reserved, none has |
//! | `jobid-alloc=ID`, `jobid-reserved=ID` | that the job holds, has reserved |
//! | `jobid-span=ID`, `jobid-tag=ID` | whose subtree counts, whose tag names the job |
//! | `names=HOSTLIST` | whose name is in the list |
//! | `property=NAME` | that has the property |
//! | `agfilter=true`, `agfilter=false` | always, never; `true` asks for the counts of the subtree beside each vertex |
//!
//! Predicates and groups in parentheses are joined by `and`, by `or`, or by nothing at all, which means `and`. The two
//! words bind equally and to the left: `a or b and c` is `(a or b) and c`. There is no negation. Blanks and tabs
//! separate; a predicate ends only at one of them or where the group around it ends, so a value may contain
//! parentheses that match.
//!
//! Decides what an expression says, not whether a vertex satisfies it: [`Find::holds`] asks the caller for each
//! predicate.

use crate::base::JobId;
use crate::formats::error::ParseError;
use crate::formats::hostlist::{Hostlist, HostlistError};
use crate::formats::jobid::{self, JobIdError};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Most groups within groups.
const MAX_DEPTH: usize = 64;

/// What a vertex is asked.
#[derive(Clone, PartialEq, Debug)]
pub enum Predicate {
    /// Is it up (or else down)?
    Up(bool),
    /// Does a job hold it now (or else none)?
    Allocated(bool),
    /// Has a job reserved it (or else none)?
    Reserved(bool),
    /// Does this job hold it?
    AllocatedBy(JobId),
    /// Has this job reserved it?
    ReservedBy(JobId),
    /// Do the counts of its subtree know this job?
    SpanOf(JobId),
    /// Does its tag name this job?
    TaggedBy(JobId),
    /// True or false of itself; true asks for the counts of subtrees.
    Counts(bool),
    /// Is its name in the list?
    Named(Hostlist),
    /// Has it the property?
    Property(String),
}

/// One step of an expression in postfix order.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// Put the answer to a predicate on the stack.
    Ask(Predicate),
    /// Replace the two uppermost answers by whether both are true.
    And,
    /// Replace the two uppermost answers by whether one is true.
    Or,
}

/// A find expression.
///
/// ```
/// use sluice::matcher::tree::{Find, Predicate};
/// let find: Find = "status=down or (sched-now=free property=gpu)".parse().unwrap();
/// assert!(find.holds(|predicate| matches!(predicate, Predicate::Up(false))));
/// assert!(!find.holds(|predicate| matches!(predicate, Predicate::Allocated(false))));
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Find {
    steps: Vec<Step>,
    text: String,
}

/// Why a text is not a find expression.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ExpressionError {
    /// Something else stands in the text.
    #[error("invalid find expression: {0}")]
    Syntax(#[from] ParseError),
    /// A value that is not a job id.
    #[error("invalid find expression: at byte {byte}: {source}")]
    Job {
        /// Where the value begins.
        byte: usize,
        /// What is wrong with it.
        source: JobIdError,
    },
    /// A value that is not a hostlist.
    #[error("invalid find expression: at byte {byte}: {source}")]
    Names {
        /// Where the value begins.
        byte: usize,
        /// What is wrong with it.
        source: HostlistError,
    },
    /// Too many groups within groups.
    #[error("invalid find expression: more than {MAX_DEPTH} groups within each other at byte {byte}")]
    Depth {
        /// Where the innermost begins.
        byte: usize,
    },
}

impl Find {
    /// Reads an expression as Fluxion does, which looks for names and properties in lower case only.
    ///
    /// # Errors
    /// [`ExpressionError`], as [`Find::from_str`].
    pub fn parse_lowered(text: &str) -> Result<Self, ExpressionError> {
        Parser { text, lowered: true }.expression()
    }

    /// The expression in postfix order: never empty, and what it leaves on the stack is one answer.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Every predicate, in the order of the text.
    pub fn predicates(&self) -> impl Iterator<Item = &Predicate> {
        self.steps.iter().filter_map(|step| match step {
            Step::Ask(predicate) => Some(predicate),
            Step::And | Step::Or => None,
        })
    }

    /// Whether the counts of subtrees are asked for. The last `agfilter` says so.
    pub fn wants_counts(&self) -> bool {
        let said = self.predicates().filter_map(|predicate| match predicate {
            Predicate::Counts(wanted) => Some(*wanted),
            _ => None,
        });
        said.last().unwrap_or(false)
    }

    /// The job whose counts are meant: the last that is named. Without one all use is counted.
    pub fn job(&self) -> Option<JobId> {
        let named = self.predicates().filter_map(|predicate| match *predicate {
            Predicate::AllocatedBy(job)
            | Predicate::ReservedBy(job)
            | Predicate::SpanOf(job)
            | Predicate::TaggedBy(job) => Some(job),
            _ => None,
        });
        named.last()
    }

    /// Whether the expression is true, given the answers to its predicates. Asks each of them once.
    pub fn holds(&self, mut answer: impl FnMut(&Predicate) -> bool) -> bool {
        let mut stack: smallvec::SmallVec<[bool; 8]> = smallvec::SmallVec::new();
        for step in &self.steps {
            match step {
                Step::Ask(predicate) => stack.push(answer(predicate)),
                Step::And | Step::Or => {
                    let (right, left) = (stack.pop().unwrap_or(false), stack.pop().unwrap_or(false));
                    stack.push(if *step == Step::And { left && right } else { left || right });
                }
            }
        }
        stack.pop().unwrap_or(false)
    }
}

impl FromStr for Find {
    type Err = ExpressionError;

    /// Reads an expression; names and properties keep their case.
    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        Parser { text, lowered: false }.expression()
    }
}

impl fmt::Display for Find {
    /// The text as it was read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

struct Parser<'t> {
    text: &'t str,
    lowered: bool,
}

impl<'t> Parser<'t> {
    fn expression(&self) -> Result<Find, ExpressionError> {
        let mut steps = Vec::new();
        self.sequence(0, self.text.len(), 0, &mut steps)?;
        Ok(Find { steps, text: self.text.to_owned() })
    }

    /// The first byte from `at` on that is not blank, at most `end`.
    fn skip(&self, at: usize, end: usize) -> usize {
        self.text.as_bytes()[at..end].iter().position(|&b| !is_blank(b)).map_or(end, |found| at + found)
    }

    /// The first blank from `at` on, at most `end`.
    fn word_end(&self, at: usize, end: usize) -> usize {
        self.text.as_bytes()[at..end].iter().position(|&b| is_blank(b)).map_or(end, |found| at + found)
    }

    fn expected(&self, at: usize, what: &'static str) -> ExpressionError {
        ParseError::at_char(self.text, at, what).into()
    }

    /// Terms and what joins them, up to `end`.
    fn sequence(&self, start: usize, end: usize, depth: usize, steps: &mut Vec<Step>) -> Result<(), ExpressionError> {
        let mut at = self.term(start, end, depth, steps)?;
        loop {
            let next = self.skip(at, end);
            if next == end {
                return Ok(());
            }
            if next == at {
                return Err(self.expected(at, "a blank or the end"));
            }
            let word = self.word_end(next, end);
            let join = match &self.text[next..word] {
                "and" => Some(Step::And),
                "or" => Some(Step::Or),
                _ => None,
            };
            at = if join.is_some() { word } else { next };
            at = self.term(at, end, depth, steps)?;
            steps.push(join.unwrap_or(Step::And));
        }
    }

    /// A predicate or a group. Returns where it ends.
    fn term(&self, start: usize, end: usize, depth: usize, steps: &mut Vec<Step>) -> Result<usize, ExpressionError> {
        let at = self.skip(start, end);
        if at == end {
            return Err(self.expected(end, "a predicate or `(`"));
        }
        if self.text.as_bytes()[at] != b'(' {
            let word = self.word_end(at, end);
            steps.push(Step::Ask(self.predicate(at, word)?));
            return Ok(word);
        }
        if depth == MAX_DEPTH {
            return Err(ExpressionError::Depth { byte: at });
        }
        let mut open = 0usize;
        for (i, &byte) in self.text.as_bytes()[at..end].iter().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                self.sequence(at + 1, at + i, depth + 1, steps)?;
                return Ok(at + i + 1);
            }
        }
        Err(self.expected(end, "`)`"))
    }

    fn predicate(&self, at: usize, end: usize) -> Result<Predicate, ExpressionError> {
        let word = &self.text[at..end];
        let Some((name, value)) = word.split_once('=') else {
            return Err(ParseError::at_piece(at, "a predicate as name=value", word).into());
        };
        let byte = at + name.len() + 1;
        let choice = |yes: &[&str], no: &[&str], expected: &'static str| {
            let is = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
            match (is(yes), is(no)) {
                (true, _) => Ok(true),
                (_, true) => Ok(false),
                _ => Err(ExpressionError::from(ParseError::at_piece(byte, expected, value))),
            }
        };
        let job = || jobid::parse(value).map_err(|source| ExpressionError::Job { byte, source });
        let text = || if self.lowered { value.to_ascii_lowercase() } else { value.to_owned() };
        Ok(match name {
            "status" => Predicate::Up(choice(&["up"], &["down"], "`up` or `down`")?),
            "sched-now" => Predicate::Allocated(choice(&["allocated"], &["free"], "`allocated` or `free`")?),
            "sched-future" => Predicate::Reserved(choice(&["reserved"], &["free"], "`reserved` or `free`")?),
            "agfilter" => Predicate::Counts(choice(&["true", "t"], &["false", "f"], "`true` or `false`")?),
            "jobid-alloc" => Predicate::AllocatedBy(job()?),
            "jobid-reserved" => Predicate::ReservedBy(job()?),
            "jobid-span" => Predicate::SpanOf(job()?),
            "jobid-tag" => Predicate::TaggedBy(job()?),
            "names" => Predicate::Named(text().parse().map_err(|source| ExpressionError::Names { byte, source })?),
            "property" if value.is_empty() => return Err(self.expected(byte, "the name of a property")),
            "property" => Predicate::Property(text()),
            _ => return Err(ParseError::at_piece(at, "the name of a predicate", name).into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers by name: `up`, `free` and property names that are true.
    fn check(text: &str, properties: &[&str]) -> bool {
        let find: Find = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        find.holds(|predicate| match predicate {
            Predicate::Property(name) => properties.contains(&name.as_str()),
            Predicate::Counts(wanted) => *wanted,
            other => panic!("unexpected {other:?}"),
        })
    }

    #[test]
    fn words_bind_equally_and_to_the_left() {
        assert!(!check("property=a or property=b and property=c", &["a"]));
        assert!(check("property=a or (property=b and property=c)", &["a"]));
        assert!(check("property=b property=c or property=a", &["a"]));
        assert!(!check("property=b property=c", &["b"]));
        assert!(check("(( property=b )\tor property=c )", &["b"]));
        assert!(check("agfilter=t", &[]) && !check("agfilter=F", &[]));
    }

    #[test]
    fn values_may_hold_parentheses_that_match() {
        assert!(check("(property=a(b)c)", &["a(b)c"]));
        assert!(check("property=x)", &["x)"]));
    }

    #[test]
    fn what_is_asked_for_besides() {
        let find: Find = "jobid-alloc=3 or jobid-tag=ƒ5 agfilter=true".parse().unwrap();
        assert!(find.wants_counts());
        assert_eq!(find.job(), Some(JobId(4)));
        assert_eq!(find.to_string(), "jobid-alloc=3 or jobid-tag=ƒ5 agfilter=true");
        assert!(!"agfilter=true agfilter=false".parse::<Find>().unwrap().wants_counts());
        assert_eq!("status=up".parse::<Find>().unwrap().job(), None);
    }

    #[test]
    fn fluxion_looks_in_lower_case() {
        let kept: Find = "property=Fast".parse().unwrap();
        assert_eq!(kept.predicates().next(), Some(&Predicate::Property("Fast".into())));
        let lowered = Find::parse_lowered("property=Fast or names=Node[1-2]").unwrap();
        let expected = [Predicate::Property("fast".into()), Predicate::Named("node[1-2]".parse().unwrap())];
        assert!(lowered.predicates().eq(expected.iter()));
    }

    #[test]
    fn what_is_refused() {
        let cases = [
            ("", "invalid find expression: expected a predicate or `(`, found end of input at byte 0"),
            ("status", "invalid find expression: expected a predicate as name=value, found `status` at byte 0"),
            ("status=on", "invalid find expression: expected `up` or `down`, found `on` at byte 7"),
            ("color=red", "invalid find expression: expected the name of a predicate, found `color` at byte 0"),
            ("status=up and", "invalid find expression: expected a predicate or `(`, found end of input at byte 13"),
            ("(status=up", "invalid find expression: expected `)`, found end of input at byte 10"),
            ("(status=up)or status=up", "invalid find expression: expected a blank or the end, found `o` at byte 11"),
            ("()", "invalid find expression: expected a predicate or `(`, found `)` at byte 1"),
            ("property=", "invalid find expression: expected the name of a property, found end of input at byte 9"),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Find>().unwrap_err().to_string(), expected, "{text}");
        }
        assert!(matches!("jobid-alloc=x-".parse::<Find>(), Err(ExpressionError::Job { byte: 12, .. })));
        assert!(matches!("names=a[".parse::<Find>(), Err(ExpressionError::Names { byte: 6, .. })));
        let deep = format!("{}status=up{}", "(".repeat(70), ")".repeat(70));
        assert_eq!(deep.parse::<Find>(), Err(ExpressionError::Depth { byte: 64 }));
    }
}
