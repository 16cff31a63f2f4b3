//! `[users]` and `[groups]`: who is called what, and who is in which group.
//!
//! The core looks nothing up in a system: whoever is to be admitted by name or by group stands here. Users are numbers
//! everywhere else; a name that is not here is nobody's.

use super::error::nearest;
use super::reader::Item;
use crate::formats::error::quote;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The users and groups that a configuration knows.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct People {
    /// Numbers of users, by name.
    pub users: IndexMap<String, u32>,
    /// Who is in a group, each by name or by number; every name is in `users`.
    pub groups: IndexMap<String, Vec<String>>,
}

impl People {
    /// The number of a user who is written as a name or as a number.
    pub fn number(&self, user: &str) -> Option<u32> {
        self.users.get(user).copied().or_else(|| user.parse().ok())
    }

    /// How a user is called in messages: name and number, else the number.
    pub fn called(&self, number: u32) -> String {
        match self.users.iter().find(|(_, n)| **n == number) {
            Some((name, _)) => format!("{name} ({number})"),
            None => number.to_string(),
        }
    }

    /// Whether a user is in a group; nobody is in one that is not here.
    pub fn is_in(&self, group: &str, number: u32) -> bool {
        self.groups.get(group).is_some_and(|members| members.iter().any(|m| self.number(m) == Some(number)))
    }
}

/// Reads `[users]` and `[groups]`.
pub(super) fn read(users: Option<Item<'_, '_>>, groups: Option<Item<'_, '_>>) -> People {
    let mut people = People::default();
    for item in users.iter().filter_map(Item::section).flat_map(|section| section.items()) {
        if item.name.parse::<u32>().is_ok() {
            item.error_help("a name that is a number could be taken for one", "give the user another name");
        }
        people.users.extend(item.integer(0..=i64::from(u32::MAX)).map(|number| (item.name.clone(), number as u32)));
    }
    for item in groups.iter().filter_map(Item::section).flat_map(|section| section.items()) {
        let known = |member: &str| match people.number(member) {
            Some(_) => Ok(()),
            None => Err(unknown(member, &people)),
        };
        let members = item.strings(known);
        people.groups.extend(members.map(|members| (item.name.clone(), members)));
    }
    people
}

fn unknown(member: &str, people: &People) -> String {
    let near = nearest(member, people.users.keys().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
    format!("expected a number, or a name that [users] has, found {}{near}", quote(member))
}
