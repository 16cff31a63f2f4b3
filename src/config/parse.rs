//! From text to [`Config`]: the tables, and what must hold between them.

use super::calendar;
use super::error::{ConfigErrors, nearest};
use super::lending::LendingDraft;
use super::policy::{PolicyPatch, SchedulerPatch};
use super::reader::{Item, Reader, Section};
use super::{Config, JobSize, Members, PolicyConfig, Profiles, QueueConfig, ResourceConfig};
use crate::formats::error::quote;
use crate::formats::hostlist::Hostlist;
use crate::formats::r::banned_character;
use std::fmt::Arguments;
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

/// Most hosts that an error names.
const MAX_NAMED: usize = 5;

impl Config {
    /// Reads a configuration. `file` is only for errors.
    ///
    /// ```
    /// use sluice::config::Config;
    /// let config = Config::parse("[queues.batch]\nrequires = ['batch']\npolicy.limits.duration = '8h'\n", "site.toml");
    /// assert_eq!(config.unwrap().queues.len(), 1);
    /// let error = Config::parse("[queues.batch]\nrequire = ['batch']\n", "site.toml").unwrap_err();
    /// assert_eq!(error.to_string(), "site.toml:2:1: queues.batch: unknown key `require` (did you mean `requires`?)");
    /// ```
    pub fn parse(text: &str, file: &str) -> Result<Config, ConfigErrors> {
        Self::parse_beside(text, file, &[])
    }

    /// Reads a configuration from a text that has other top-level keys as well: those in `others` are the caller's.
    pub fn parse_beside(text: &str, file: &str, others: &[&str]) -> Result<Config, ConfigErrors> {
        let reader = Reader::new(file, text);
        let document = reader.document();
        let config = document.as_ref().map(|document| {
            let mut top = Section::new(&reader, String::new(), document.span(), document.get_ref());
            let config = read_config(&mut top);
            top.finish_except(others, &[]);
            config
        });
        finish(reader, config)
    }

    /// Reads one queue, to be added to this configuration or to take the place of its namesake: `text` is what would
    /// stand below `[queues.NAME]`. The same checks hold as for a whole configuration.
    pub fn parse_queue(&self, name: &str, text: &str, file: &str) -> Result<QueueConfig, ConfigErrors> {
        let reader = Reader::new(file, text);
        let document = reader.document();
        let queue = document.as_ref().and_then(|document| {
            // The document is the table, so it stands nowhere in particular.
            let section = Section::new(&reader, queue_key(name), 0..0, document.get_ref());
            let draft = Draft::read(name, section);
            self.check_lending(&draft);
            self.resolve(draft)
        });
        finish(reader, queue)
    }

    /// Reads one queue as [`Config::parse_queue`] does, from a table that stands in a larger `text`.
    pub fn read_queue(
        &self,
        name: &str,
        table: &Spanned<DeValue<'_>>,
        text: &str,
        file: &str,
    ) -> Result<QueueConfig, ConfigErrors> {
        let reader = Reader::new(file, text);
        let section = Item::new(&reader, queue_key(name), name, table).section();
        let queue = section.and_then(|section| {
            let draft = Draft::read(name, section);
            self.check_lending(&draft);
            self.resolve(draft)
        });
        finish(reader, queue)
    }

    /// Whether the queues are there that a single one lends to and borrows from.
    fn check_lending(&self, draft: &Draft<'_, '_>) {
        let known: Vec<(&str, bool)> = self.queues.values().map(|queue| (&*queue.name, queue.is_virtual())).collect();
        draft.lending.check(draft.reader, &draft.name, &known);
    }

    /// The queue that `draft` means here, after the checks that need the other tables.
    fn resolve(&self, draft: Draft<'_, '_>) -> Option<QueueConfig> {
        let reader = draft.reader;
        check_hosts(&draft, &self.resource);
        let Some((parent, span)) = &draft.parent else {
            let profile = match &draft.patch.profile {
                Some((name, span)) => self.profiles.find(reader, &draft.profile_key(), name, span),
                None => self.sched.as_ref().and_then(|name| self.profiles.get(name)),
            };
            return Some(draft.finish(&self.policy, profile, None));
        };
        let key = format!("{}.parent", draft.key);
        if *parent == draft.name {
            reader.error(&key, span.clone(), "a queue cannot be its own parent");
            return None;
        }
        let Some(parent) = self.queues.get(parent) else {
            unknown_queue(reader, &key, span, parent, self.queues.keys());
            return None;
        };
        if parent.is_virtual() {
            let message = format_args!("queue {} is virtual itself and cannot be a parent", quote(&parent.name));
            reader.error(&key, span.clone(), message);
        }
        if let Some(child) = self.queues.values().find(|queue| queue.parent.as_deref() == Some(&*draft.name)) {
            let message = format_args!("queue {} has this one for parent, so it cannot be virtual", quote(&child.name));
            reader.error(&key, span.clone(), message);
        }
        Some(draft.finish(&parent.policy, None, Some(parent)))
    }
}

impl QueueConfig {
    /// Reads one queue by itself: `text` is what would stand below `[queues.NAME]`, `below` the policy that holds where
    /// it says nothing (of a virtual queue: its parent's). It may name built-in profiles only. Whether a parent exists is not looked at, and a virtual queue
    /// has all members; [`Config::parse_queue`] knows better.
    pub fn parse_fragment(
        name: &str,
        text: &str,
        file: &str,
        below: &PolicyConfig,
    ) -> Result<QueueConfig, ConfigErrors> {
        let reader = Reader::new(file, text);
        let document = reader.document();
        let queue = document.as_ref().map(|document| {
            let section = Section::new(&reader, queue_key(name), 0..0, document.get_ref());
            let (draft, profiles) = (Draft::read(name, section), Profiles::default());
            let named = draft.patch.profile.as_ref().filter(|_| draft.parent.is_none());
            let profile = named.and_then(|(name, span)| profiles.find(&reader, &draft.profile_key(), name, span));
            draft.finish(below, profile, None)
        });
        finish(reader, queue)
    }
}

/// What was read, if nothing is wrong with it.
pub(super) fn finish<T>(reader: Reader<'_>, value: Option<T>) -> Result<T, ConfigErrors> {
    let errors = reader.into_errors();
    match value {
        Some(value) if errors.is_empty() => Ok(value),
        _ => Err(ConfigErrors(errors)),
    }
}

fn queue_key(name: &str) -> String {
    format!("queues.{name}")
}

pub(super) fn read_config(top: &mut Section<'_, '_>) -> Config {
    let global = top.take("policy").map(|item| PolicyPatch::read(&item)).unwrap_or_default();
    let mut config = Config { policy: global.over(&PolicyConfig::default(), None), ..Config::default() };
    read_profiles(top, &global, &mut config);
    let policy_span = top.take("policy").map_or(0..0, |item| item.key_span);
    check_sizes(top.reader, "policy.limits.job-size", &policy_span, &config.policy);
    config.people = super::people::read(top.take("users"), top.take("groups"));
    if let Some(resource) = top.take("resource") {
        config.resource = ResourceConfig::read(&resource);
    }
    let queues = top.take("queues").and_then(|item| item.section());
    let items = queues.map(|queues| queues.items()).unwrap_or_default();
    let drafts: Vec<Draft<'_, '_>> =
        items.iter().filter_map(|item| Some(Draft::read(&item.name, item.section()?))).collect();
    let order: Vec<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
    // Parents first, because a virtual queue takes from what its parent has.
    let (virtuals, reals): (Vec<_>, Vec<_>) = drafts.into_iter().partition(|draft| draft.parent.is_some());
    let virtual_names: Vec<String> = virtuals.iter().map(|draft| draft.name.clone()).collect();
    let known: Vec<(&str, bool)> = order.iter().map(|name| (&**name, virtual_names.contains(name))).collect();
    for draft in &reals {
        draft.lending.check(draft.reader, &draft.name, &known);
    }
    let lends = |lender: &str, to: &str| {
        let lender = reals.iter().find(|draft| draft.name == lender);
        lender.and_then(|draft| draft.lending.lending.lend.as_ref()).is_some_and(|lend| lend.to.iter().any(|q| q == to))
    };
    reals.iter().for_each(|draft| draft.lending.check_lenders(draft.reader, &draft.name, &lends));
    for draft in reals {
        let name = draft.name.clone();
        config.queues.extend(config.resolve(draft).map(|queue| (name, queue)));
    }
    let mut resolved = Vec::new();
    for draft in virtuals {
        let (reader, key) = (draft.reader, format!("{}.parent", draft.key));
        match &draft.parent {
            Some((parent, span)) if *parent != draft.name && virtual_names.contains(parent) => {
                let message = format_args!("queue {} is virtual itself and cannot be a parent", quote(parent));
                reader.error(&key, span.clone(), message);
            }
            _ => resolved.extend(config.resolve(draft)),
        }
    }
    config.queues.extend(resolved.into_iter().map(|queue| (queue.name.clone(), queue)));
    config.queues.sort_by_cached_key(|name, _| order.iter().position(|other| other == name));
    if let Some((queue, span)) = &global.default_queue
        && !order.contains(queue)
    {
        unknown_queue(top.reader, "policy.jobspec.defaults.system.queue", span, queue, &order);
    }
    config.policy.defaults.queue = global.default_queue.map(|(queue, _)| queue);
    if let Some(item) = top.take("calendar") {
        let known: Vec<&str> = order.iter().map(String::as_str).collect();
        config.calendar.entries = calendar::read(&item, &known);
    }
    config
}

/// The profiles, and the one that holds where none is named.
fn read_profiles(top: &mut Section<'_, '_>, global: &PolicyPatch, config: &mut Config) {
    config.profiles = Profiles::read(top);
    if let Some((_, span)) = &global.profile {
        let message = "only a queue chooses a profile here";
        let help = "for all queues that name none: sched = \"NAME\" above all tables, or --sched NAME";
        top.reader.error_help("policy.scheduler.profile", span.clone(), message, help);
    }
    let sched = top.take("sched").and_then(|item| Some((item.string()?.to_owned(), item.span())));
    if let Some((name, span)) = sched
        && config.profiles.find(top.reader, "sched", &name, &span).is_some()
    {
        config.sched = Some(name);
    }
}

fn unknown_queue<'n>(
    reader: &Reader<'_>,
    key: &str,
    span: &Range<usize>,
    name: &str,
    names: impl IntoIterator<Item = &'n String, IntoIter: Clone>,
) {
    let message = format_args!("no queue {} is configured", quote(name));
    unknown_name(reader, key, span, message, name, names.into_iter().map(String::as_str));
}

/// A name that is none of those that there are: with the nearest of them, or all.
pub(super) fn unknown_name<'n>(
    reader: &Reader<'_>,
    key: &str,
    span: &Range<usize>,
    message: Arguments<'_>,
    name: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) {
    let names = || names.clone();
    match nearest(name, names()) {
        Some(near) => reader.error_help(key, span.clone(), message, format!("did you mean `{near}`?")),
        None if names().next().is_some() => {
            let known = names().collect::<Vec<_>>().join(", ");
            reader.error_help(key, span.clone(), message, format!("known are {known}"));
        }
        None => reader.error(key, span.clone(), message),
    }
}

/// A queue as its own table describes it.
struct Draft<'r, 'a> {
    reader: &'r Reader<'a>,
    name: String,
    key: String,
    span: Range<usize>,
    members: Members,
    hosts_span: Option<Range<usize>>,
    parent: Option<(String, Range<usize>)>,
    patch: PolicyPatch,
    lending: LendingDraft,
}

impl<'r, 'a> Draft<'r, 'a> {
    /// Reads the table, with the checks that need no other.
    fn read(name: &str, mut section: Section<'r, 'a>) -> Self {
        let reader = section.reader;
        let (key, span) = (section.key.clone(), section.span.clone());
        if let Some(fault) = name_fault(name) {
            reader.error(&key, span.clone(), fault);
        }
        let hosts = section.take("hosts");
        let requires = section.take("requires");
        let parent = section.take("parent");
        let patch = section.take("policy").map(|item| PolicyPatch::read(&item)).unwrap_or_default();
        let lending = LendingDraft::read(&mut section);
        section.finish();
        if let (Some(hosts), Some(_)) = (&hosts, &requires) {
            let help = "take one of them out";
            reader.error_help(&hosts.key, hosts.key_span.clone(), "hosts and requires exclude each other", help);
        }
        if parent.is_some() {
            for item in hosts.iter().chain(&requires) {
                let message =
                    format_args!("a virtual queue has its parent's resources, so {} cannot be set", item.name);
                reader.error(&item.key, item.key_span.clone(), message);
            }
            for (key, span) in &lending.tables {
                reader.error(
                    key,
                    span.clone(),
                    "a virtual queue has no nodes of its own: it neither lends nor borrows",
                );
            }
            if let Some(span) = &patch.scheduler_span {
                let message = "a virtual queue is scheduled by its parent, so policy.scheduler cannot be set";
                reader.error(&format!("{key}.policy.scheduler"), span.clone(), message);
            }
        }
        if let Some((_, span)) = &patch.default_queue {
            let key = format!("{key}.policy.jobspec.defaults.system.queue");
            let help = "set it in the global policy";
            reader.error_help(&key, span.clone(), "the policy of a queue cannot name a default queue", help);
        }
        let members = match (&hosts, &requires) {
            (Some(hosts), _) => read_hosts(hosts),
            (None, Some(requires)) => read_requires(requires),
            (None, None) => Members::All,
        };
        let parent = parent.and_then(|item| Some((item.string()?.to_owned(), item.span())));
        Self {
            reader,
            name: name.to_owned(),
            key,
            span,
            members,
            hosts_span: hosts.map(|item| item.span()),
            parent,
            patch,
            lending,
        }
    }

    /// The key by which it names a profile.
    fn profile_key(&self) -> String {
        format!("{}.policy.scheduler.profile", self.key)
    }

    /// The queue with its policy over a profile, that over `below`, and its parent's members.
    fn finish(
        self,
        below: &PolicyConfig,
        profile: Option<&SchedulerPatch>,
        parent: Option<&QueueConfig>,
    ) -> QueueConfig {
        let mut policy = self.patch.over(below, profile);
        // A queue's policy never names one, and has not its parent's or the global one.
        policy.defaults.queue = None;
        check_sizes(self.reader, &format!("{}.policy.limits.job-size", self.key), &self.span, &policy);
        let members = parent.map_or(self.members, |parent| parent.members.clone());
        let lending = self.lending.lending;
        QueueConfig { name: self.name, members, parent: self.parent.map(|(parent, _)| parent), policy, lending }
    }
}

/// What is wrong with the name of a queue. It becomes the property `+NAME` (RFC 33), so it must do for one.
fn name_fault(name: &str) -> Option<String> {
    let banned = |c: &char| c.is_whitespace() || c.is_control() || *c == ',' || *c == '!';
    if name.is_empty() {
        Some("the name of a queue cannot be empty".to_owned())
    } else {
        let character = banned_character(name).or_else(|| name.chars().find(banned))?;
        let character = quote(character.encode_utf8(&mut [0; 4]));
        Some(format!("character {character} is not allowed in the name of a queue"))
    }
}

fn read_hosts(item: &Item<'_, '_>) -> Members {
    if item.is_string() && item.string() == Some("all") {
        return Members::All;
    }
    match item.parse::<Hostlist>() {
        Some(hosts) if hosts.is_empty() => {
            item.error_help("expected some hosts, found an empty hostlist", "write \"all\" for all hosts");
            Members::All
        }
        Some(hosts) => Members::Hosts(hosts),
        None => Members::All,
    }
}

fn read_requires(item: &Item<'_, '_>) -> Members {
    // flux-core's list for this place.
    let banned = [' ', '\t', '!', '&', '\'', '"', '`', '|', '(', ')'];
    let check = |name: &str| match name.chars().find(|c| banned.contains(c)) {
        Some(c) => Err(format!("character `{c}` is not allowed in property {}", quote(name))),
        None => Ok(()),
    };
    match item.strings(check) {
        Some(names) if !names.is_empty() => Members::Requires(names),
        _ => Members::All,
    }
}

/// Every host of the queue must be a resource, where resources are configured host by host.
fn check_hosts(draft: &Draft<'_, '_>, resource: &ResourceConfig) {
    let (Members::Hosts(hosts), Some(span)) = (&draft.members, &draft.hosts_span) else { return };
    if resource.entries.is_empty() {
        return;
    }
    let mut unknown = hosts.iter().filter(|host| !resource.entries.iter().any(|entry| entry.hosts.contains(host)));
    let named: Hostlist = unknown.by_ref().take(MAX_NAMED).collect();
    if !named.is_empty() {
        let more = match unknown.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format_args!("no [[resource.config]] has host {named}{more}");
        draft.reader.error(&format!("{}.hosts", draft.key), span.clone(), message);
    }
}

/// The smallest size may not be larger than the largest.
fn check_sizes(reader: &Reader<'_>, key: &str, span: &Range<usize>, policy: &PolicyConfig) {
    let (min, max) = (policy.limits.job_size_min, policy.limits.job_size_max);
    let bounds = |size: JobSize| [("nnodes", size.nnodes), ("ncores", size.ncores), ("ngpus", size.ngpus)];
    for ((name, min), (_, max)) in bounds(min).into_iter().zip(bounds(max)) {
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            reader.error(
                key,
                span.clone(),
                format_args!("min.{name} {min} is more than max.{name} {max}: no job fits"),
            );
        }
    }
}
