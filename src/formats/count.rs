//! How many of a resource a jobspec asks for: one number, a range with a step, or a list (RFC 14, 22 and 45).
//!
//! Three written forms are read: a whole number; an object `{min, max, operator, operand}`, in which `max`, `operator`
//! and `operand` stand together or not at all; and a string, optionally in square brackets:
//!
//! | string | admits |
//! |---|---|
//! | `4` | 4 |
//! | `2-8` | 2, 3, … 8 |
//! | `2-8:3` | 2, 5, 8 (from one to the next: add 3) |
//! | `2-16:2:*` | 2, 4, 8, 16 (multiply by 2) |
//! | `2-256:2:^` | 2, 4, 16, 256 (raise to the power 2) |
//! | `4+`, `4+:2`, `4+:2:*` | the same without an upper end |
//! | `1,7-9` | 1, 7, 8, 9 |
//!
//! Decides which numbers are admitted. Does not decide which of them a job gets: that is the matcher's part.
//!
//! Invariants: every admitted number is at least 1, at least one number is admitted, and equal counts admit the same
//! numbers. To that end a range keeps the largest admitted number as its `max` (`2-9:3` becomes `2-8:3`), a range of
//! one number becomes that number, and a list without gaps becomes a range.

mod error;
mod text;

#[cfg(test)]
pub(crate) mod tests;

pub use error::CountError;

use super::error::quote;
use super::found;
use serde_json::{Value, json};
use std::fmt;

/// A count of RFC 14: see the module.
///
/// ```
/// use sluice::formats::count::Count;
/// let count: Count = "2-16:2:*".parse().unwrap();
/// assert_eq!(count.iter().collect::<Vec<_>>(), [2, 4, 8, 16]);
/// assert_eq!(count.largest_at_most(10), Some(8));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Count(Shape);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Shape {
    Fixed(u64),
    /// `max`, where there is one, is admitted and greater than `min`.
    Range {
        min: u64,
        max: Option<u64>,
        step: Step,
    },
    /// Two or more runs, ascending, with a gap between any two.
    Set(Box<[(u64, u64)]>),
}

/// How a range goes from one admitted number to the next.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Add the operand, 1 or more.
    Add(u64),
    /// Multiply by the operand, 2 or more.
    Mul(u64),
    /// Raise to the power of the operand, 2 or more; the range starts at 2 or more.
    Pow(u64),
}

impl Step {
    /// The step of an operator character and its operand.
    fn new(operator: char, operand: u64) -> Result<Step, CountError> {
        let (step, least) = match operator {
            '+' => (Step::Add(operand), 1),
            '*' => (Step::Mul(operand), 2),
            '^' => (Step::Pow(operand), 2),
            other => return Err(CountError::Operator { found: quote(&other.to_string()) }),
        };
        if operand < least { Err(CountError::Operand { operator, least, found: operand }) } else { Ok(step) }
    }

    fn operator(self) -> char {
        match self {
            Step::Add(_) => '+',
            Step::Mul(_) => '*',
            Step::Pow(_) => '^',
        }
    }

    fn operand(self) -> u64 {
        match self {
            Step::Add(n) | Step::Mul(n) | Step::Pow(n) => n,
        }
    }

    /// The number after `value`, if it fits.
    fn after(self, value: u64) -> Option<u64> {
        match self {
            Step::Add(n) => value.checked_add(n),
            Step::Mul(n) => value.checked_mul(n),
            Step::Pow(n) => value.checked_pow(u32::try_from(n).ok()?),
        }
    }

    /// The largest number of the sequence from `min` that is at most `bound`; needs `min <= bound`.
    fn last(self, min: u64, bound: u64) -> u64 {
        if let Step::Add(n) = self {
            return min + (bound - min) / n * n;
        }
        // At most 64 rounds: each at least doubles the value.
        let mut value = min;
        while let Some(next) = self.after(value).filter(|next| *next <= bound) {
            value = next;
        }
        value
    }
}

impl Count {
    /// Exactly `n`.
    ///
    /// # Panics
    /// If `n` is 0, which no count admits. For input use [`Count::try_from`].
    pub fn fixed(n: u64) -> Count {
        assert!(n > 0, "a count admits numbers of at least 1");
        Count(Shape::Fixed(n))
    }

    /// From `min` by `step` to at most `max` (without end if `None`).
    ///
    /// # Errors
    /// `min` of 0, `max` below `min`, an operand that does not lead on.
    pub fn range(min: u64, max: Option<u64>, step: Step) -> Result<Count, CountError> {
        if min == 0 {
            return Err(CountError::Number { what: "min", found: "the number 0".to_owned() });
        }
        let step = Step::new(step.operator(), step.operand())?;
        if matches!(step, Step::Pow(_)) && min < 2 {
            return Err(CountError::PowerOfOne);
        }
        let Some(max) = max else { return Ok(Count(Shape::Range { min, max: None, step })) };
        if max < min {
            return Err(CountError::MaxBelowMin { min, max });
        }
        let last = step.last(min, max);
        Ok(Count(if last == min { Shape::Fixed(min) } else { Shape::Range { min, max: Some(last), step } }))
    }

    /// Whether exactly one number is admitted.
    pub fn is_fixed(&self) -> bool {
        matches!(self.0, Shape::Fixed(_))
    }

    /// The smallest admitted number.
    pub fn min(&self) -> u64 {
        match &self.0 {
            Shape::Fixed(n) => *n,
            Shape::Range { min, .. } => *min,
            Shape::Set(runs) => runs[0].0,
        }
    }

    /// The largest admitted number; `None` if there is no upper end.
    pub fn max(&self) -> Option<u64> {
        match &self.0 {
            Shape::Fixed(n) => Some(*n),
            Shape::Range { max, .. } => *max,
            Shape::Set(runs) => Some(runs[runs.len() - 1].1),
        }
    }

    /// How the range goes on; `None` for a fixed count and for a list with gaps.
    pub fn step(&self) -> Option<Step> {
        match &self.0 {
            Shape::Range { step, .. } => Some(*step),
            Shape::Fixed(_) | Shape::Set(_) => None,
        }
    }

    /// Whether `n` is admitted.
    pub fn contains(&self, n: u64) -> bool {
        self.largest_at_most(n) == Some(n)
    }

    /// The largest admitted number that is not above `n`.
    pub fn largest_at_most(&self, n: u64) -> Option<u64> {
        if n < self.min() {
            return None;
        }
        Some(match &self.0 {
            Shape::Fixed(only) => *only,
            Shape::Range { min, max, step } => step.last(*min, max.map_or(n, |max| max.min(n))),
            Shape::Set(runs) => {
                let (_, high) = runs[..runs.partition_point(|run| run.0 <= n)].last()?;
                n.min(*high)
            }
        })
    }

    /// The admitted numbers, upward; ends where they pass 64 bits.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::successors(Some(self.min()), |value| self.after(*value))
    }

    /// The admitted number after the admitted `value`.
    fn after(&self, value: u64) -> Option<u64> {
        match &self.0 {
            Shape::Fixed(_) => None,
            Shape::Range { max, step, .. } => step.after(value).filter(|next| max.is_none_or(|max| *next <= max)),
            Shape::Set(runs) => {
                let at = runs.partition_point(|run| run.1 < value);
                if value < runs[at].1 { Some(value + 1) } else { runs.get(at + 1).map(|run| run.0) }
            }
        }
    }

    /// Reads any of the written forms.
    ///
    /// # Errors
    /// [`CountError`]; a number with a fraction, also `4.0`, is refused as Flux does.
    pub fn from_json(value: &Value) -> Result<Count, CountError> {
        match value {
            Value::Number(_) => positive("count", value).map(Count::fixed),
            Value::String(text) => text.parse(),
            Value::Object(object) => {
                let mut fields: [Option<&Value>; 4] = [None; 4];
                for (key, value) in object {
                    let Some(at) = KEYS.iter().position(|known| known == key) else {
                        return Err(CountError::UnknownKey { key: quote(key) });
                    };
                    fields[at] = Some(value);
                }
                from_fields(fields)
            }
            Value::Null | Value::Bool(_) | Value::Array(_) => Err(CountError::Type { found: found::value(value) }),
        }
    }

    /// The number if it is fixed, the object of RFC 14 for a range; a string where RFC 14 has no form: lists, and
    /// ranges without an upper end whose step is not 1.
    pub fn to_json(&self) -> Value {
        match &self.0 {
            Shape::Fixed(n) => json!(n),
            Shape::Range { min, max: Some(max), step } => {
                json!({"min": min, "max": max, "operator": step.operator().to_string(), "operand": step.operand()})
            }
            Shape::Range { min, max: None, step: Step::Add(1) } => json!({"min": min}),
            Shape::Range { .. } | Shape::Set(_) => json!(self.to_string()),
        }
    }
}

impl TryFrom<u64> for Count {
    type Error = CountError;

    fn try_from(n: u64) -> Result<Count, CountError> {
        if n == 0 {
            return Err(CountError::Number { what: "count", found: "the number 0".to_owned() });
        }
        Ok(Count(Shape::Fixed(n)))
    }
}

impl fmt::Display for Count {
    /// The shortest string of RFC 45 or 22, without brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Shape::Fixed(n) => write!(f, "{n}"),
            Shape::Range { min, max, step } => {
                match max {
                    Some(max) => write!(f, "{min}-{max}")?,
                    None => write!(f, "{min}+")?,
                }
                match step {
                    Step::Add(1) => Ok(()),
                    Step::Add(n) => write!(f, ":{n}"),
                    Step::Mul(n) => write!(f, ":{n}:*"),
                    Step::Pow(n) => write!(f, ":{n}:^"),
                }
            }
            Shape::Set(runs) => {
                for (i, (low, high)) in runs.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    if low == high { write!(f, "{comma}{low}")? } else { write!(f, "{comma}{low}-{high}")? }
                }
                Ok(())
            }
        }
    }
}

const KEYS: [&str; 4] = ["min", "max", "operator", "operand"];

/// A range object's values in the order of [`KEYS`].
fn from_fields([min, max, operator, operand]: [Option<&Value>; 4]) -> Result<Count, CountError> {
    let min = min.ok_or(CountError::Missing { key: "min", with: None })?;
    let min = positive("min", min)?;
    let given = [("max", max), ("operator", operator), ("operand", operand)];
    let Some((with, _)) = given.iter().find(|(_, value)| value.is_some()) else {
        return Count::range(min, None, Step::Add(1));
    };
    let need =
        |key: &'static str, value: Option<&Value>| value.cloned().ok_or(CountError::Missing { key, with: Some(with) });
    let (max, operator, operand) = (need("max", max)?, need("operator", operator)?, need("operand", operand)?);
    let character = operator.as_str().and_then(|text| {
        let mut chars = text.chars();
        chars.next().filter(|_| chars.next().is_none())
    });
    let character = character.ok_or_else(|| CountError::Operator { found: found::value(&operator) })?;
    let step = Step::new(character, positive("operand", &operand)?)?;
    Count::range(min, Some(positive("max", &max)?), step)
}

fn positive(what: &'static str, value: &Value) -> Result<u64, CountError> {
    value.as_u64().filter(|n| *n > 0).ok_or_else(|| CountError::Number { what, found: found::value(value) })
}
