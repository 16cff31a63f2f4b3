//! What one layer changes in those below it, and how two become one.
//!
//! A layer is a tree of patches: a key is set, appended to, unset, or is a table of such keys. [`merge`] is associative
//! wherever merging in order finds no conflict: appends and unsets are carried along until they meet what they are for.

use crate::config::reader::kind;
use indexmap::IndexMap;
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A value with its place.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// The keys of a table, in the order in which they were first named.
pub(super) type Keys<'a> = IndexMap<String, Entry<'a>>;

/// What is said of one key.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    /// Where the key stands; of a table, where it was named first.
    pub(super) key: Range<usize>,
    /// Whether all that lies below is dropped (`"key-" = true`).
    pub(super) reset: bool,
    pub(super) content: Content<'a>,
    /// Who had a say, lowest first.
    pub(super) steps: Vec<Step<'a>>,
}

#[derive(Clone, Debug)]
pub(super) enum Content<'a> {
    /// Nothing, after an unset.
    Nothing,
    /// A value in place of the one below.
    Value(Value<'a>),
    /// More elements for an array, and where they stand.
    More(Vec<Value<'a>>, Range<usize>),
    /// A table, and where it stands.
    Table(Keys<'a>, Range<usize>),
}

/// What a layer did to a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// Set it.
    Set,
    /// Appended to it (`"key+" = […]`).
    Append,
    /// Unset it (`"key-" = true`).
    Unset,
}

/// A layer's say.
#[derive(Clone, Debug)]
pub(super) struct Step<'a> {
    pub(super) deed: Deed,
    /// Where the key stands.
    pub(super) key: Range<usize>,
    /// What was said.
    pub(super) value: Value<'a>,
}

/// A table where a value stands, or the reverse; an append to what is no array.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    pub(super) key: Vec<String>,
    pub(super) below: (Range<usize>, &'static str),
    pub(super) above: (Range<usize>, &'static str),
}

/// A key or a value that is no patch.
pub(super) struct Fault {
    pub(super) key: Vec<String>,
    pub(super) span: Range<usize>,
    pub(super) message: String,
}

impl Content<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Content::Nothing => "nothing",
            Content::Value(value) => kind(value.get_ref()),
            Content::More(..) => "an array",
            Content::Table(..) => "a table",
        }
    }
}

impl<'a> Entry<'a> {
    /// A table that is not there yet.
    pub(super) fn table(key: Range<usize>, keys: Keys<'a>) -> Self {
        Self { key: key.clone(), reset: false, content: Content::Table(keys, key), steps: Vec::new() }
    }
}

/// `upper` over `lower`. What contradicts stays as it is in `lower` and is reported.
pub(super) fn merge<'a>(
    mut lower: Keys<'a>,
    upper: Keys<'a>,
    conflicts: &mut Vec<Conflict>,
    path: &mut Vec<String>,
) -> Keys<'a> {
    for (name, above) in upper {
        match lower.get_mut(&name) {
            None => {
                lower.insert(name, above);
            }
            Some(below) => {
                path.push(name);
                merge_entry(below, above, conflicts, path);
                path.pop();
            }
        }
    }
    lower
}

fn merge_entry<'a>(below: &mut Entry<'a>, above: Entry<'a>, conflicts: &mut Vec<Conflict>, path: &mut Vec<String>) {
    let (below_key, above_key) = (below.key.clone(), above.key.clone());
    if above.reset {
        let steps = std::mem::take(&mut below.steps).into_iter().chain(above.steps).collect();
        *below = Entry { steps, ..above };
        return;
    }
    let kinds = (below.content.kind(), above.content.kind());
    let content = std::mem::replace(&mut below.content, Content::Nothing);
    below.content = match (content, above.content) {
        (Content::Nothing, content) => {
            below.key = above_key;
            match content {
                Content::More(more, span) => array(more, span),
                content => content,
            }
        }
        (content @ (Content::Value(_) | Content::More(..)), Content::Nothing) => content,
        (Content::Table(keys, span), Content::Nothing) => Content::Table(keys, span),
        (Content::Value(_) | Content::More(..), Content::Value(value)) => {
            below.key = above_key;
            Content::Value(value)
        }
        (Content::More(mut first, _), Content::More(more, span)) => {
            first.extend(more);
            below.key = above_key;
            Content::More(first, span)
        }
        (Content::Value(value), Content::More(more, span)) => {
            let place = value.span();
            match value.into_inner() {
                DeValue::Array(first) => {
                    below.key = above_key;
                    array(first.into_iter().chain(more).collect(), span)
                }
                other => {
                    let above = (above_key, "an array to append");
                    conflicts.push(Conflict { key: path.clone(), below: (below_key, kinds.0), above });
                    below.content = Content::Value(Spanned::new(place, other));
                    return;
                }
            }
        }
        (Content::Table(first, span), Content::Table(more, _)) => {
            Content::Table(merge(first, more, conflicts, path), span)
        }
        (content, Content::Table(..) | Content::Value(_) | Content::More(..)) => {
            conflicts.push(Conflict { key: path.clone(), below: (below_key, kinds.0), above: (above_key, kinds.1) });
            below.content = content;
            return;
        }
    };
    below.steps.extend(above.steps);
}

fn array<'a>(values: Vec<Value<'a>>, span: Range<usize>) -> Content<'a> {
    Content::Value(Spanned::new(span, DeValue::Array(values.into_iter().collect::<DeArray<'a>>())))
}

/// What a table of a text says, with all places moved by `start`.
pub(super) fn patch<'a>(
    table: &DeTable<'a>,
    start: usize,
    path: &mut Vec<String>,
    faults: &mut Vec<Fault>,
) -> Keys<'a> {
    let mut keys = Keys::new();
    let mut entries: Vec<_> = table.iter().map(|(key, value)| (key.get_ref().as_ref(), key.span(), value)).collect();
    entries.sort_by_key(|(_, span, _)| span.start);
    // An unset comes before what is set, and an append behind, wherever they stand.
    let rank = |name: &str| match deed(name).1 {
        Deed::Unset => 0,
        Deed::Set => 1,
        Deed::Append => 2,
    };
    entries.sort_by_key(|(name, ..)| rank(name));
    for (name, key_span, value) in entries {
        let (name, deed) = deed(name);
        path.push(name.to_owned());
        let key = moved(key_span.clone(), start);
        let owned = shift(value, start);
        let mut fault = |message: String| {
            faults.push(Fault { key: path.clone(), span: value.span(), message });
            None
        };
        let found = kind(value.get_ref());
        let (reset, content) = match (deed, value.get_ref()) {
            (Deed::Unset, DeValue::Boolean(true)) => (true, Some(Content::Nothing)),
            (Deed::Unset, _) => {
                (true, fault(format!("expected true after `{name}-`, which unsets a key, found {found}")))
            }
            (Deed::Append, DeValue::Array(_)) => match owned.get_ref() {
                DeValue::Array(more) => (false, Some(Content::More(more.iter().cloned().collect(), owned.span()))),
                _ => (false, None),
            },
            (Deed::Append, _) => {
                (false, fault(format!("expected an array after `{name}+`, which appends, found {found}")))
            }
            (Deed::Set, DeValue::Table(inner)) => {
                (false, Some(Content::Table(patch(inner, start, path, faults), owned.span())))
            }
            (Deed::Set, _) => (false, Some(Content::Value(owned.clone()))),
        };
        if let Some(content) = content {
            let steps = match content {
                Content::Table(..) => Vec::new(),
                _ => vec![Step { deed, key: key.clone(), value: owned }],
            };
            let entry = Entry { key, reset, content, steps };
            match keys.get_mut(name) {
                // One text says two things of one key: nothing here can contradict but an append to no array, which
                // is reported as a fault of this text.
                Some(below) => {
                    let mut conflicts = Vec::new();
                    merge_entry(below, entry, &mut conflicts, path);
                    for _ in conflicts {
                        let message = format!("cannot append to `{name}`, which is no array");
                        faults.push(Fault { key: path.clone(), span: value.span(), message });
                    }
                }
                None => {
                    keys.insert(name.to_owned(), entry);
                }
            }
        }
        path.pop();
    }
    keys
}

/// What is done to which key by one that is written so.
fn deed(name: &str) -> (&str, Deed) {
    match (name.strip_suffix('+'), name.strip_suffix('-')) {
        (Some(name), _) if !name.is_empty() => (name, Deed::Append),
        (_, Some(name)) if !name.is_empty() => (name, Deed::Unset),
        _ => (name, Deed::Set),
    }
}

fn moved(span: Range<usize>, start: usize) -> Range<usize> {
    span.start + start..span.end + start
}

/// The value with all its places moved.
fn shift<'a>(value: &Spanned<DeValue<'a>>, start: usize) -> Value<'a> {
    let inner = match value.get_ref() {
        DeValue::Array(items) => DeValue::Array(items.iter().map(|item| shift(item, start)).collect()),
        DeValue::Table(table) => {
            let mut moved_table = DeTable::new();
            for (key, value) in table {
                let key = Spanned::new(moved(key.span(), start), key.get_ref().clone());
                moved_table.insert(key, shift(value, start));
            }
            DeValue::Table(moved_table)
        }
        other => other.clone(),
    };
    Spanned::new(moved(value.span(), start), inner)
}

/// The table that all layers make together.
pub(super) fn resolve<'a>(keys: &Keys<'a>) -> DeTable<'a> {
    let mut table = DeTable::new();
    for (name, entry) in keys {
        let value = match &entry.content {
            Content::Nothing => continue,
            Content::Value(value) => value.clone(),
            Content::More(more, span) => Spanned::new(span.clone(), DeValue::Array(more.iter().cloned().collect())),
            Content::Table(keys, span) => Spanned::new(span.clone(), DeValue::Table(resolve(keys))),
        };
        table.insert(Spanned::new(entry.key.clone(), Cow::Owned(name.clone())), value);
    }
    table
}
