//! Constraints (RFC 31): which targets a job may have.
//!
//! An object with at most one key, the operator; its value is an array.
//!
//! | operator | matches a target when |
//! |---|---|
//! | `{}` | always |
//! | `properties` | it has every named property; `^name` means it must not have it. The host's name counts as a property |
//! | `hostlist` | its host is in the union of the hostlists |
//! | `ranks` | its rank is in the union of the idsets |
//! | `and` | all members match; an empty array always does |
//! | `or` | some member matches; an empty array always does |
//! | `not` | not all members match (so an empty array never does) |
//!
//! This is what flux-core does. (Its Python class takes `or: []` for false and looks at the first member of `not` only.)
//!
//! Jobspecs are untrusted: nesting deeper than [`MAX_DEPTH`] is refused.

use super::error::{json_kind, quote};
use super::hostlist::{Hostlist, HostlistError, MAX_HOSTS};
use super::idset::{Idset, IdsetError};
use serde_json::{Value, json};
use std::fmt;
use thiserror::Error;

/// The deepest nesting of operators.
pub const MAX_DEPTH: usize = 100;

/// Characters that flux-core refuses in a property of a constraint.
const BANNED: [char; 8] = ['!', '&', '\'', '"', '`', '|', '(', ')'];

/// A condition on a target.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Constraint {
    /// Everything matches.
    #[default]
    All,
    /// All of these properties.
    Properties(Vec<PropertyTerm>),
    /// One of these hosts.
    Hostlist(Hostlist),
    /// One of these ranks.
    Ranks(Idset),
    /// All of these.
    And(Vec<Constraint>),
    /// Some of these; nothing named means everything.
    Or(Vec<Constraint>),
    /// Not all of these.
    Not(Vec<Constraint>),
}

/// A property that must, or must not, be there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PropertyTerm {
    /// The property, without the sign of negation.
    pub name: String,
    /// Whether it must be absent.
    pub negated: bool,
}

/// Why a JSON value is not a constraint, and where in it.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("invalid constraint at {path}: {reason}")]
pub struct ConstraintError {
    /// The place, as `.and[1].properties[0]`; `.` is the whole.
    pub path: String,
    /// What is wrong there.
    pub reason: ConstraintErrorKind,
}

/// What is wrong with a constraint.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ConstraintErrorKind {
    /// A value of another kind.
    #[error("expected {expected}, found {found}")]
    Type {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// More than one operator in an object.
    #[error("expected one operator, found {0}")]
    Operators(usize),
    /// An operator that does not exist.
    #[error("unknown operator {0}; known are properties, hostlist, ranks, and, or, not")]
    Unknown(String),
    /// A character that no property may have.
    #[error("character {character} is not allowed in property {property}")]
    Character {
        /// The character, quoted.
        character: String,
        /// The property, quoted.
        property: String,
    },
    /// A bad hostlist.
    #[error(transparent)]
    Hostlist(#[from] HostlistError),
    /// A bad idset.
    #[error(transparent)]
    Idset(#[from] IdsetError),
    /// Nested too deeply.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    Depth,
}

impl PropertyTerm {
    /// The term that `text` means: `name` or `^name`.
    pub fn parse(text: &str) -> Result<Self, ConstraintErrorKind> {
        if let Some(character) = text.chars().find(|c| BANNED.contains(c)) {
            let character = quote(character.encode_utf8(&mut [0; 4]));
            return Err(ConstraintErrorKind::Character { character, property: quote(text) });
        }
        Ok(match text.strip_prefix('^') {
            Some(name) => Self { name: name.to_owned(), negated: true },
            None => Self { name: text.to_owned(), negated: false },
        })
    }
}

impl fmt::Display for PropertyTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.negated { "^" } else { "" }, self.name)
    }
}

impl Constraint {
    /// Reads a constraint.
    ///
    /// ```
    /// use sluice::formats::constraint::Constraint;
    /// let json = serde_json::json!({"and": [{"properties": ["gpu", "^old"]}, {"hostlist": ["n[1-9]"]}]});
    /// let constraint = Constraint::from_json(&json).unwrap();
    /// assert!(constraint.matches(&|name| name == "gpu", "n3", 0));
    /// assert!(!constraint.matches(&|_| true, "n3", 0));
    /// assert_eq!(Constraint::from_json(&serde_json::json!({"or": [{"rank": []}]})).unwrap_err().to_string(),
    ///     "invalid constraint at .or[0]: unknown operator `rank`; known are properties, hostlist, ranks, and, or, not");
    /// ```
    pub fn from_json(value: &Value) -> Result<Self, ConstraintError> {
        Path::ROOT.constraint(value)
    }

    /// The constraint as JSON; read again it is the same.
    pub fn to_json(&self) -> Value {
        let members = |members: &[Constraint]| members.iter().map(Constraint::to_json).collect::<Vec<_>>();
        match self {
            Constraint::All => json!({}),
            Constraint::Properties(terms) => {
                json!({ "properties": terms.iter().map(PropertyTerm::to_string).collect::<Vec<_>>() })
            }
            Constraint::Hostlist(hosts) => json!({ "hostlist": [hosts] }),
            Constraint::Ranks(ranks) => json!({ "ranks": [ranks] }),
            Constraint::And(all) => json!({ "and": members(all) }),
            Constraint::Or(any) => json!({ "or": members(any) }),
            Constraint::Not(none) => json!({ "not": members(none) }),
        }
    }

    /// Whether a target matches that has the properties for which `has` is true, this host and this rank.
    pub fn matches(&self, has: &dyn Fn(&str) -> bool, host: &str, rank: u32) -> bool {
        let all = |members: &[Constraint]| members.iter().all(|member| member.matches(has, host, rank));
        match self {
            Constraint::All => true,
            Constraint::Properties(terms) => {
                terms.iter().all(|term| (term.name == host || has(&term.name)) != term.negated)
            }
            Constraint::Hostlist(hosts) => hosts.contains(host),
            Constraint::Ranks(ranks) => ranks.contains(rank),
            Constraint::And(members) => all(members),
            Constraint::Or(members) => {
                members.is_empty() || members.iter().any(|member| member.matches(has, host, rank))
            }
            Constraint::Not(members) => !all(members),
        }
    }
}

impl fmt::Display for Constraint {
    /// As JSON on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

/// The way from the whole to a value, kept on the stack.
#[derive(Clone, Copy)]
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    operator: &'static str,
    index: Option<usize>,
    depth: usize,
}

impl Path<'_> {
    const ROOT: Path<'static> = Path { parent: None, operator: "", index: None, depth: 0 };

    fn error(&self, reason: impl Into<ConstraintErrorKind>) -> ConstraintError {
        ConstraintError {
            path: if self.parent.is_none() { ".".to_owned() } else { self.to_string() },
            reason: reason.into(),
        }
    }

    fn expected(&self, expected: &'static str, found: &Value) -> ConstraintError {
        self.error(ConstraintErrorKind::Type { expected, found: json_kind(found) })
    }

    fn operator(&self, operator: &'static str) -> Path<'_> {
        Path { parent: Some(self), operator, index: None, depth: self.depth }
    }

    fn constraint(&self, value: &Value) -> Result<Constraint, ConstraintError> {
        if self.depth > MAX_DEPTH {
            return Err(self.error(ConstraintErrorKind::Depth));
        }
        let object = value.as_object().ok_or_else(|| self.expected("an object", value))?;
        if object.len() > 1 {
            return Err(self.error(ConstraintErrorKind::Operators(object.len())));
        }
        let Some((operator, value)) = object.iter().next() else { return Ok(Constraint::All) };
        match operator.as_str() {
            "properties" => self.operator("properties").strings(value, PropertyTerm::parse).map(Constraint::Properties),
            "hostlist" => {
                let lists = self.operator("hostlist").strings(value, |text| Ok(Hostlist::parse(text)?))?;
                let mut all = Hostlist::new();
                for list in &lists {
                    all.append(list);
                    if all.len() > MAX_HOSTS {
                        let (limit, what) = (MAX_HOSTS as u64, "hosts in a list");
                        return Err(self.operator("hostlist").error(HostlistError::TooMany { limit, what, byte: 0 }));
                    }
                }
                Ok(Constraint::Hostlist(all))
            }
            "ranks" => {
                let sets = self.operator("ranks").strings(value, |text| Ok(Idset::parse(text)?))?;
                Ok(Constraint::Ranks(sets.iter().fold(Idset::new(), |all, set| all.union(set))))
            }
            "and" => self.operator("and").members(value).map(Constraint::And),
            "or" => self.operator("or").members(value).map(Constraint::Or),
            "not" => self.operator("not").members(value).map(Constraint::Not),
            unknown => Err(self.error(ConstraintErrorKind::Unknown(quote(unknown)))),
        }
    }

    fn members(&self, value: &Value) -> Result<Vec<Constraint>, ConstraintError> {
        let array = value.as_array().ok_or_else(|| self.expected("an array", value))?;
        let member = |(index, member)| Path { index: Some(index), depth: self.depth + 1, ..*self }.constraint(member);
        array.iter().enumerate().map(member).collect()
    }

    fn strings<T>(
        &self,
        value: &Value,
        parse: impl Fn(&str) -> Result<T, ConstraintErrorKind>,
    ) -> Result<Vec<T>, ConstraintError> {
        let array = value.as_array().ok_or_else(|| self.expected("an array", value))?;
        let string = |(index, member): (usize, &Value)| {
            let at = Path { index: Some(index), ..*self };
            let text = member.as_str().ok_or_else(|| at.expected("a string", member))?;
            parse(text).map_err(|reason| at.error(reason))
        };
        array.iter().enumerate().map(string).collect()
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return Ok(()) };
        write!(f, "{parent}.{}", self.operator)?;
        self.index.map_or(Ok(()), |index| write!(f, "[{index}]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Constraint, ConstraintError> {
        Constraint::from_json(&serde_json::from_str(text).unwrap())
    }

    /// Whether a target with property `gpu` on host `n3`, rank 3 matches.
    fn matches(text: &str) -> bool {
        read(text).unwrap().matches(&|name| name == "gpu", "n3", 3)
    }

    #[test]
    fn matches_as_flux_core_does() {
        for (text, expected) in [
            ("{}", true),
            (r#"{"properties":[]}"#, true),
            (r#"{"properties":["gpu"]}"#, true),
            (r#"{"properties":["^gpu"]}"#, false),
            (r#"{"properties":["gpu","^big","n3"]}"#, true),
            (r#"{"properties":["^n3"]}"#, false),
            (r#"{"properties":["^^gpu"]}"#, true),
            (r#"{"hostlist":["n[1-2]","n3"]}"#, true),
            (r#"{"hostlist":["n[1-2]"]}"#, false),
            (r#"{"hostlist":[]}"#, false),
            (r#"{"ranks":["0-1","3"]}"#, true),
            (r#"{"ranks":["0-1"]}"#, false),
            (r#"{"and":[]}"#, true),
            (r#"{"or":[]}"#, true),
            (r#"{"not":[]}"#, false),
            (r#"{"not":[{"ranks":["3"]},{"ranks":["4"]}]}"#, true),
            (r#"{"not":[{"ranks":["3"]},{"properties":["gpu"]}]}"#, false),
            (r#"{"or":[{"ranks":["4"]},{"and":[{"properties":["gpu"]},{"not":[{"hostlist":["n1"]}]}]}]}"#, true),
        ] {
            assert_eq!(matches(text), expected, "{text}");
        }
    }

    #[test]
    fn refuses() {
        let refused = [
            ("[]", "invalid constraint at .: expected an object, found an array"),
            ("null", "invalid constraint at .: expected an object, found null"),
            (r#"{"and":[],"or":[]}"#, "invalid constraint at .: expected one operator, found 2"),
            (
                r#"{"propertys":["a"]}"#,
                "invalid constraint at .: unknown operator `propertys`; known are properties, hostlist, ranks, and, or, not",
            ),
            (r#"{"properties":"a"}"#, "invalid constraint at .properties: expected an array, found a string"),
            (r#"{"properties":["a",1]}"#, "invalid constraint at .properties[1]: expected a string, found a number"),
            (
                r#"{"and":[{},{"properties":["a|b"]}]}"#,
                "invalid constraint at .and[1].properties[0]: character `|` is not allowed in property `a|b`",
            ),
            (
                r#"{"properties":["a)"]}"#,
                "invalid constraint at .properties[0]: character `)` is not allowed in property `a)`",
            ),
            (
                r#"{"not":[{"ranks":["3-1"]}]}"#,
                "invalid constraint at .not[0].ranks[0]: invalid idset: range 3-1 at byte 0 does not ascend",
            ),
            (
                r#"{"hostlist":["a","a["]}"#,
                "invalid constraint at .hostlist[1]: invalid hostlist: unbalanced bracket at byte 1",
            ),
            (r#"{"or":{"ranks":["1"]}}"#, "invalid constraint at .or: expected an array, found an object"),
            (r#"{"or":[true]}"#, "invalid constraint at .or[0]: expected an object, found a boolean"),
        ];
        for (text, message) in refused {
            assert_eq!(read(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn bounds_the_depth() {
        let nested = |levels| (0..levels).fold(json!({}), |inner, _| json!({ "not": [inner] }));
        assert!(Constraint::from_json(&nested(MAX_DEPTH)).is_ok());
        let error = Constraint::from_json(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(error.reason, ConstraintErrorKind::Depth);
        assert_eq!(error.path, ".not[0]".repeat(MAX_DEPTH + 1));
    }

    fn constraints() -> impl Strategy<Value = Constraint> {
        let term = ("[a-z+@]{0,3}", any::<bool>()).prop_map(|(name, negated)| PropertyTerm { name, negated });
        let leaf = prop_oneof![
            Just(Constraint::All),
            proptest::collection::vec(term, 0..3).prop_map(Constraint::Properties),
            proptest::collection::vec("n[0-9]{1,2}", 0..4).prop_map(|n| Constraint::Hostlist(n.iter().collect())),
            proptest::collection::vec(0..9u32, 0..4).prop_map(|n| Constraint::Ranks(n.into_iter().collect())),
        ];
        leaf.prop_recursive(4, 16, 3, |inner| {
            let members = proptest::collection::vec(inner, 0..3);
            (members, 0..3).prop_map(|(members, kind)| match kind {
                0 => Constraint::And(members),
                1 => Constraint::Or(members),
                _ => Constraint::Not(members),
            })
        })
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            "[a-z0-9,\\[\\]-]{0,4}".prop_map(Value::from),
            any::<i32>().prop_map(Value::from)
        ];
        leaf.prop_recursive(5, 24, 3, |inner| {
            let key = prop_oneof!["properties|hostlist|ranks|and|or|not", ".{0,2}"];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                (key, inner).prop_map(|(key, value)| json!({ key: value })),
            ]
        })
    }

    proptest! {
        #![proptest_config(crate::base::testing::config(256))]
        #[test]
        fn round_trips(constraint in constraints()) {
            prop_assert_eq!(Constraint::from_json(&constraint.to_json()).unwrap(), constraint);
        }

        #[test]
        fn never_panics(value in values()) {
            if let Ok(constraint) = Constraint::from_json(&value) {
                constraint.matches(&|_| false, "n1", 1);
                prop_assert_eq!(Constraint::from_json(&constraint.to_json()).unwrap(), constraint);
            }
        }
    }
}
