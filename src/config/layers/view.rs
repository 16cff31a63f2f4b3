//! What the layers make together, value by value, for people and programs to look at.

use super::patch::{Content, Deed, Entry, Keys, Step};
use super::sources::Place;
use super::{Layers, key};
use std::ops::Range;
use toml::de::DeValue;

/// A layer's say about a key.
#[derive(Clone, PartialEq, Debug)]
pub struct Say {
    /// What it did.
    pub deed: Deed,
    /// What it said, as TOML writes it.
    pub value: String,
    /// Where.
    pub place: Option<Place>,
}

/// A value that is no table, or an empty table.
#[derive(Clone, PartialEq, Debug)]
pub struct Leaf {
    /// The names of its key.
    pub names: Vec<String>,
    /// What it is, as TOML writes it; `None` where it was unset.
    pub value: Option<String>,
    /// The same as JSON.
    pub json: serde_json::Value,
    /// Who made it what it is: who set it, then who appended.
    pub by: Vec<Say>,
    /// Who had a say that no longer counts, lowest first.
    pub overridden: Vec<Say>,
}

impl Leaf {
    /// Its key.
    pub fn key(&self) -> String {
        key::join(&self.names)
    }
}

impl Layers {
    /// All values at `names` and below, in the order in which their keys were first named. Those that were unset too, if
    /// `unset`.
    pub fn leaves(&self, names: &[String], unset: bool) -> Vec<Leaf> {
        let (keys, _) = self.merged();
        let mut leaves = Vec::new();
        self.walk(&keys, &mut Vec::new(), &mut leaves);
        leaves.retain(|leaf| leaf.names.starts_with(names) && (unset || leaf.value.is_some()));
        leaves
    }

    fn walk(&self, keys: &Keys<'_>, path: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
        for (name, entry) in keys {
            path.push(name.clone());
            match &entry.content {
                Content::Table(inner, _) if !inner.is_empty() => self.walk(inner, path, leaves),
                _ => leaves.push(self.leaf(path, entry)),
            }
            path.pop();
        }
    }

    fn leaf(&self, path: &[String], entry: &Entry<'_>) -> Leaf {
        let said = |step: &Step<'_>| Say {
            deed: step.deed,
            value: literal(step.value.get_ref()),
            place: self.sources.place(&step.key),
        };
        // Nobody before the last who set or unset has a say; who unset a value that is there again has none either.
        let last = entry.steps.iter().rposition(|step| step.deed != Deed::Append).unwrap_or(0);
        let (before, after) = entry.steps.split_at(last);
        let mut by: Vec<Say> = after.iter().map(said).collect();
        let mut overridden: Vec<Say> = before.iter().map(said).collect();
        let (value, json) = match &entry.content {
            Content::Nothing => (None, serde_json::Value::Null),
            Content::Value(value) => (Some(literal(value.get_ref())), json(value.get_ref())),
            Content::More(more, _) => {
                let items: Vec<_> = more.iter().map(|item| literal(item.get_ref())).collect();
                (Some(format!("[{}]", items.join(", "))), more.iter().map(|item| json(item.get_ref())).collect())
            }
            Content::Table(..) => (Some("{}".to_owned()), serde_json::json!({})),
        };
        if value.is_some() && by.first().is_some_and(|say| say.deed == Deed::Unset) {
            overridden.push(by.remove(0));
        }
        if by.is_empty() {
            by.extend(self.stands(&entry.key));
        }
        Leaf { names: path.to_vec(), value, json, by, overridden }
    }

    /// A table of which nobody says anything but its name.
    fn stands(&self, span: &Range<usize>) -> Option<Say> {
        let place = Some(self.sources.place(span)?);
        Some(Say { deed: Deed::Set, value: "{}".to_owned(), place })
    }

    /// The values at `names` as one JSON value: of a table an object. `None` if nothing is there.
    pub fn json(&self, names: &[String]) -> Option<serde_json::Value> {
        let (keys, _) = self.merged();
        let table = super::patch::resolve(&keys);
        let mut value = DeValue::Table(table);
        for name in names {
            let DeValue::Table(mut table) = value else { return None };
            value = table.remove(name.as_str())?.into_inner();
        }
        Some(json(&value))
    }
}

/// A value as TOML writes it, in one line.
fn literal(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => toml::Value::String(text.to_string()).to_string().replace("\"\"\"\n", "\"\"\""),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(moment) => moment.to_string(),
        DeValue::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| literal(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(table) if table.is_empty() => "{}".to_owned(),
        DeValue::Table(table) => {
            let mut pairs: Vec<_> = table.iter().collect();
            pairs.sort_by_key(|(key, _)| key.span().start);
            let pair = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| -> String {
                let name: &std::borrow::Cow<'_, str> = name.get_ref();
                format!("{} = {}", key::quoted(name), literal(value.get_ref()))
            };
            format!("{{ {} }}", pairs.into_iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A value as JSON. What JSON has not, as dates and infinities, is a string.
fn json(value: &DeValue<'_>) -> serde_json::Value {
    match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or_else(|_| number.to_string().into(), Into::into)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or_else(
            |_| number.to_string().into(),
            |n| serde_json::Number::from_f64(n).map_or_else(|| number.to_string().into(), Into::into),
        ),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Datetime(moment) => moment.to_string().into(),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let mut pairs: Vec<_> = table.iter().collect();
            pairs.sort_by_key(|(key, _)| key.span().start);
            pairs.into_iter().map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref()))).collect()
        }
    }
}
