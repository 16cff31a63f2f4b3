//! Lending: which queues a queue lends its idle targets to (`queues.X.lend`), and how it borrows (`queues.X.borrow`).
//!
//! Decides what the two tables may say by themselves, and that whom they name is there. When a loan is made is decided
//! by `site::lending`.

use super::error::nearest;
use super::reader::{Item, Reader, Section};
use crate::base::Duration;
use crate::formats::error::quote;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a queue lends and borrows.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lending {
    /// How it lends; `None`: it does not.
    pub lend: Option<Lend>,
    /// How it borrows, from those that lend to it.
    pub borrow: Borrow,
}

/// How a queue lends its idle targets (`queues.X.lend`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lend {
    /// The queues that may borrow; never empty.
    pub to: Vec<String>,
    /// So many targets that answer are never lent.
    pub floor: u32,
    /// No loan is longer; more than zero.
    pub max_duration: Duration,
    /// For how long a target must have been idle before it is lent, and in the borrower's hands before it goes back
    /// unused.
    pub idle_for: Duration,
    /// For how long a target stays at home after a loan; more than zero.
    pub min_home: Duration,
}

/// How a queue borrows (`queues.X.borrow`).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Borrow {
    /// The lenders, in the order in which they are asked; `None`: whoever lends to it, by name.
    pub from: Option<Vec<String>>,
    /// It has so many borrowed targets at most; `None`: no bound.
    pub cap: Option<u32>,
    /// Of what lenders can lend, so many are kept for it, less what it has borrowed.
    pub floor: u32,
}

/// The defaults of `queues.X.lend`.
const MAX_DURATION: Duration = Duration::from_secs(4 * 3600);
const IDLE_FOR: Duration = Duration::from_secs(60);
const MIN_HOME: Duration = Duration::from_secs(300);

impl Lend {
    /// Lends to these queues, with the defaults of the configuration.
    pub fn to(names: impl IntoIterator<Item = String>) -> Self {
        let to = names.into_iter().collect();
        Self { to, floor: 0, max_duration: MAX_DURATION, idle_for: IDLE_FOR, min_home: MIN_HOME }
    }
}

/// A queue that one of the tables names, and where.
pub(super) struct Named {
    key: String,
    span: Range<usize>,
    pub(super) name: String,
}

/// The tables as they stand, and whom they name.
#[derive(Default)]
pub(super) struct LendingDraft {
    pub(super) lending: Lending,
    pub(super) named: Vec<Named>,
    /// Where the tables stand.
    pub(super) tables: Vec<(String, Range<usize>)>,
}

impl LendingDraft {
    /// Takes both tables out of a queue's.
    pub(super) fn read(queue: &mut Section<'_, '_>) -> Self {
        let mut draft = Self::default();
        if let Some(item) = queue.take("lend") {
            draft.tables.push((item.key.clone(), item.key_span.clone()));
            draft.lending.lend = item.section().and_then(|section| draft.read_lend(section, &item));
        }
        if let Some(item) = queue.take("borrow") {
            draft.tables.push((item.key.clone(), item.key_span.clone()));
            if let Some(section) = item.section() {
                draft.lending.borrow = draft.read_borrow(section);
            }
        }
        draft
    }

    fn read_lend(&mut self, mut section: Section<'_, '_>, table: &Item<'_, '_>) -> Option<Lend> {
        let to = section.take("to").map(|item| (self.names(&item), item));
        let mut lend = Lend::to([]);
        let number = |item: Item<'_, '_>| item.integer(0..=i64::from(u32::MAX)).map(|n| n as u32);
        lend.floor = section.take("floor").and_then(number).unwrap_or(0);
        let mut length = |name, least: Duration, default| {
            let Some(item) = section.take(name) else { return default };
            let Some(length) = item.duration() else { return default };
            if length < least || length.is_infinite() {
                item.error(format_args!("expected a finite time of {}s or more", least.micros() / 1_000_000));
            }
            length
        };
        lend.max_duration = length("max-duration", Duration::from_secs(1), MAX_DURATION);
        lend.idle_for = length("idle-for", Duration::ZERO, IDLE_FOR);
        // Without any rest at home, a target that a borrower takes and does not use would go to and fro for ever.
        lend.min_home = length("min-home", Duration::from_secs(1), MIN_HOME);
        if let Some(item) = section.take("return") {
            match item.string() {
                Some("preempt") => item.error_help(
                    "loans are returned by draining only: jobs on lent nodes are not preempted",
                    "write \"drain\", or leave the key out",
                ),
                Some("drain") | None => {}
                Some(_) => drop(item.word::<Drain>(&["drain"])),
            }
        }
        section.finish();
        let Some((to, item)) = to else {
            let help = "name them, as to = [\"standby\"]";
            table.error_help("expected the queues that may borrow, found no key `to`", help);
            return None;
        };
        lend.to = to?;
        if lend.to.is_empty() {
            item.error("expected at least one queue, found none");
        }
        Some(lend)
    }

    fn read_borrow(&mut self, mut section: Section<'_, '_>) -> Borrow {
        let mut borrow = Borrow::default();
        if let Some(item) = section.take("from") {
            borrow.from = self.names(&item);
        }
        let mut number = |name| section.take(name)?.integer(0..=i64::from(u32::MAX)).map(|n| n as u32);
        (borrow.cap, borrow.floor) = (number("cap"), number("floor").unwrap_or(0));
        if let (Some(cap), Some(item)) = (borrow.cap.filter(|cap| *cap < borrow.floor), section.take("floor")) {
            item.error(format_args!("a floor of {} is above the cap of {cap}", borrow.floor));
        }
        section.finish();
        borrow
    }

    fn names(&mut self, list: &Item<'_, '_>) -> Option<Vec<String>> {
        let names = list.strings(|_| Ok(()))?;
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                list.error(format_args!("queue {} stands there twice", quote(name)));
            }
            self.named.push(Named { key: list.key.clone(), span: list.span(), name: name.clone() });
        }
        Some(names)
    }

    /// Whether whom the tables of queue `me` name is there: `known` are all queues, with whether they are virtual.
    pub(super) fn check(&self, reader: &Reader<'_>, me: &str, known: &[(&str, bool)]) {
        for Named { key, span, name } in &self.named {
            let quoted = quote(name);
            match known.iter().find(|(other, _)| other == name) {
                _ if name == me => reader.error(key, span.clone(), "a queue cannot lend to itself"),
                Some((_, false)) => {}
                Some((_, true)) => {
                    let message = format_args!("queue {quoted} is virtual: it has no nodes, and its parent's jobs");
                    reader.error_help(key, span.clone(), message, "name its parent");
                }
                None => {
                    let message = format_args!("no queue {quoted} is configured");
                    match nearest(name, known.iter().map(|(name, _)| *name)) {
                        Some(near) => reader.error_help(key, span.clone(), message, format!("did you mean `{near}`?")),
                        None => reader.error(key, span.clone(), message),
                    }
                }
            }
        }
    }
}

impl LendingDraft {
    /// Whether the lenders that queue `me` names lend to it.
    pub(super) fn check_lenders(&self, reader: &Reader<'_>, me: &str, lends: &dyn Fn(&str, &str) -> bool) {
        let from = self.lending.borrow.from.iter().flatten();
        let place = |name: &String| self.named.iter().rfind(|named| named.name == *name);
        for Named { key, span, name } in from.filter(|name| *name != me).filter_map(place) {
            if !lends(name, me) {
                let message = format_args!("queue {} does not lend to this one", quote(name));
                reader.error_help(key, span.clone(), message, format!("name {} in queues.{name}.lend.to", quote(me)));
            }
        }
    }
}

/// The only word for how loans are returned.
struct Drain;

impl std::str::FromStr for Drain {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "drain" { Ok(Self) } else { Err(()) }
    }
}
