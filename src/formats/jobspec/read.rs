//! From text to a jobspec of RFC 14.

use super::error::Path;
use super::{Attributes, Dependency, Jobspec, JobspecError, MAX_DEPTH, MAX_NESTING, Resource, System, Task, TaskCount};
use crate::base::Duration;
use crate::formats::constraint::Constraint;
use crate::formats::count::Count;
use crate::formats::error::quote;
use crate::formats::{found, yaml};
use serde_json::{Map, Value};

/// Versions that are read.
const VERSIONS: [u64; 2] = [1, 9999];
/// The first number of seconds that a duration cannot hold.
const MAX_SECONDS: f64 = (i64::MAX / 1_000_000) as f64;

type Object = Map<String, Value>;
type Result<T> = std::result::Result<T, JobspecError>;

impl Jobspec {
    /// Reads JSON text.
    ///
    /// # Errors
    /// With line and column what is no JSON, with its path what is no jobspec.
    pub fn from_json_str(text: &str) -> Result<Jobspec> {
        let value: Value = serde_json::from_str(text).map_err(|error| {
            let words = error.to_string();
            // The place is a part of the error of its own.
            let what = words.rsplit_once(" at line ").map_or(&*words, |(what, _)| what).to_owned();
            JobspecError::Json { line: error.line(), column: error.column(), what }
        })?;
        Jobspec::from_value(&value)
    }

    /// Reads YAML text (one document; version 1.2, so `yes` is a string).
    ///
    /// # Errors
    /// With line and column what is no YAML, with its path what is no jobspec.
    pub fn from_yaml_str(text: &str) -> Result<Jobspec> {
        Jobspec::from_value(&yaml::read(text)?)
    }

    /// Reads a JSON value.
    ///
    /// # Errors
    /// With its path what is no jobspec.
    ///
    /// ```
    /// use sluice::formats::jobspec::Jobspec;
    /// let mut value = Jobspec::nodes(4).to_json();
    /// value["resources"][0]["with"][0]["count"] = serde_json::json!(-1);
    /// let error = Jobspec::from_value(&value).unwrap_err();
    /// assert_eq!(error.to_string(), "resources[0].with[0].count: count: \
    ///     expected a whole number of at least 1, found the number -1");
    /// ```
    pub fn from_value(value: &Value) -> Result<Jobspec> {
        check_nesting(value)?;
        let path = Path::Root;
        let mut keys = Keys::new(path, value)?;
        let version_value = keys.need("version")?;
        let version = version_value.as_u64().filter(|version| VERSIONS.contains(version));
        let version =
            version.ok_or_else(|| path.key("version").unexpected("1 or 9999", found::value(version_value)))?;
        let resources = resources(path.key("resources"), keys.need("resources")?, 1)?;
        if resources.is_empty() {
            return Err(path.key("resources").unexpected("at least one resource", "none"));
        }
        let tasks = items(path.key("tasks"), keys.need("tasks")?, task)?;
        let attributes = attributes(path.key("attributes"), keys.need("attributes")?)?;
        Ok(Jobspec { version, resources, tasks, attributes, extra: keys.rest() })
    }
}

/// Refuses what would need a deep stack only to be copied. Itself it needs none.
fn check_nesting(value: &Value) -> Result<()> {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > MAX_NESTING {
            return Err(JobspecError::Nesting);
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(object) => open.extend(object.values().map(|item| (item, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

/// An object whose keys are taken one by one; what is left is kept as extra.
struct Keys<'a> {
    path: Path<'a>,
    object: &'a Object,
    taken: Vec<&'static str>,
}

impl<'a> Keys<'a> {
    fn new(path: Path<'a>, value: &'a Value) -> Result<Keys<'a>> {
        let object = object(path, value)?;
        Ok(Keys { path, object, taken: Vec::new() })
    }

    fn take(&mut self, key: &'static str) -> Option<&'a Value> {
        self.taken.push(key);
        self.object.get(key)
    }

    fn need(&mut self, key: &'static str) -> Result<&'a Value> {
        let path = self.path;
        self.take(key).ok_or_else(|| path.missing(key))
    }

    /// The value of a key that may be absent.
    fn read<T>(&mut self, key: &'static str, read: impl FnOnce(Path<'_>, &'a Value) -> Result<T>) -> Result<Option<T>> {
        let path = self.path;
        self.take(key).map(|value| read(path.key(key), value)).transpose()
    }

    fn rest(self) -> Object {
        let left = self.object.iter().filter(|(key, _)| !self.taken.contains(&key.as_str()));
        left.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Refuses keys that are left.
    fn end(self, expected: &'static str) -> Result<()> {
        let left = self.object.keys().find(|key| !self.taken.contains(&key.as_str()));
        left.map_or(Ok(()), |key| Err(self.path.unexpected(expected, format!("the key {}", quote(key)))))
    }
}

fn object<'a>(path: Path<'_>, value: &'a Value) -> Result<&'a Object> {
    value.as_object().ok_or_else(|| path.unexpected("an object", found::value(value)))
}

fn string(path: Path<'_>, value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| path.unexpected("a string", found::value(value)))
}

fn boolean(path: Path<'_>, value: &Value) -> Result<bool> {
    value.as_bool().ok_or_else(|| path.unexpected("true or false", found::value(value)))
}

fn positive(path: Path<'_>, value: &Value) -> Result<u64> {
    let number = value.as_u64().filter(|number| *number > 0);
    number.ok_or_else(|| path.unexpected("a whole number of at least 1", found::value(value)))
}

/// Seconds, with a fraction or without. What is above zero stays so.
fn duration(path: Path<'_>, value: &Value) -> Result<Duration> {
    let seconds = value.as_f64().filter(|seconds| (0.0..MAX_SECONDS).contains(seconds));
    let seconds =
        seconds.ok_or_else(|| path.unexpected("a number of seconds from 0 to 9223372036853", found::value(value)))?;
    let least = Duration::from_micros(i64::from(seconds > 0.0));
    let exact = value.as_i64().map(Duration::from_secs).or_else(|| Duration::from_secs_f64(seconds));
    Ok(exact.unwrap_or(least).max(least))
}

fn items<T>(path: Path<'_>, value: &Value, read: impl Fn(Path<'_>, &Value) -> Result<T>) -> Result<Vec<T>> {
    let items = value.as_array().ok_or_else(|| path.unexpected("an array", found::value(value)))?;
    items.iter().enumerate().map(|(index, item)| read(path.index(index), item)).collect()
}

fn resources(path: Path<'_>, value: &Value, depth: usize) -> Result<Vec<Resource>> {
    items(path, value, |path, value| resource(path, value, depth))
}

fn resource(path: Path<'_>, value: &Value, depth: usize) -> Result<Resource> {
    if depth > MAX_DEPTH {
        return Err(JobspecError::Depth { path: path.to_string() });
    }
    let mut keys = Keys::new(path, value)?;
    let kind = string(path.key("type"), keys.need("type")?)?;
    let count = Count::from_json(keys.need("count")?);
    let count = count.map_err(|error| JobspecError::Count { path: path.key("count").to_string(), error })?;
    let label = keys.read("label", string)?;
    if kind == "slot" && label.is_none() {
        return Err(path.missing("label"));
    }
    let (unit, id) = (keys.read("unit", string)?, keys.read("id", string)?);
    let exclusive = keys.read("exclusive", boolean)?;
    let with = keys.read("with", |path, value| resources(path, value, depth + 1))?.unwrap_or_default();
    Ok(Resource { kind, count, unit, exclusive, label, id, with, extra: keys.rest() })
}

fn task(path: Path<'_>, value: &Value) -> Result<Task> {
    let mut keys = Keys::new(path, value)?;
    let command = items(path.key("command"), keys.need("command")?, string)?;
    if command.is_empty() {
        return Err(path.key("command").unexpected("at least one word", "none"));
    }
    let slot = string(path.key("slot"), keys.need("slot")?)?;
    let count = task_count(path.key("count"), keys.need("count")?)?;
    Ok(Task { command, slot, count, extra: keys.rest() })
}

fn task_count(path: Path<'_>, value: &Value) -> Result<TaskCount> {
    const EXPECTED: &str = "one of per_slot, total, per_resource";
    let object = object(path, value)?;
    let mut keys = object.iter();
    let (Some((key, value)), None) = (keys.next(), keys.next()) else {
        return Err(path.unexpected(EXPECTED, format!("{} keys", object.len())));
    };
    let inner = path.key(key);
    match key.as_str() {
        "per_slot" => positive(inner, value).map(TaskCount::PerSlot),
        "total" => positive(inner, value).map(TaskCount::Total),
        "per_resource" => {
            let mut keys = Keys::new(inner, value)?;
            let kind = string(inner.key("type"), keys.need("type")?)?;
            let count = positive(inner.key("count"), keys.need("count")?)?;
            keys.end("type or count")?;
            Ok(TaskCount::PerResource { kind, count })
        }
        _ => Err(path.unexpected(EXPECTED, format!("the key {}", quote(key)))),
    }
}

fn attributes(path: Path<'_>, value: &Value) -> Result<Attributes> {
    if value.is_null() {
        return Ok(Attributes::default());
    }
    let mut keys = Keys::new(path, value)?;
    let system = keys.read("system", system)?.unwrap_or_default();
    let user = keys.read("user", object)?.cloned();
    keys.end("system or user")?;
    Ok(Attributes { system, user })
}

fn system(path: Path<'_>, value: &Value) -> Result<System> {
    let mut keys = Keys::new(path, value)?;
    let limit = keys.read("duration", duration)?;
    let (job_name, job) = keys.read("job", job)?.unwrap_or_default();
    let mut system = System {
        duration: limit.filter(|limit| *limit > Duration::ZERO),
        zero_duration: limit == Some(Duration::ZERO),
        queue: keys.read("queue", string)?,
        constraints: keys.read("constraints", constraint)?,
        dependencies: keys.read("dependencies", |path, value| items(path, value, dependency))?.unwrap_or_default(),
        preemptible_after: keys.read("preemptible-after", duration)?,
        environment: keys.read("environment", object)?.cloned(),
        cwd: keys.read("cwd", string)?,
        bank: keys.read("bank", string)?,
        project: keys.read("project", string)?,
        job_name,
        extra: keys.rest(),
    };
    if let Some(job) = job {
        system.extra.insert("job".to_owned(), Value::Object(job));
    }
    Ok(system)
}

/// A constraint (RFC 31). Two rules are those of jobspecs, not of constraints in general: a rank may be a number,
/// as YAML files have it, and `^` stands only in front of a property (no property of R has it in its name, RFC 20).
fn constraint(path: Path<'_>, value: &Value) -> Result<Constraint> {
    let mut value = value.clone();
    ranks_to_strings(&mut value);
    let constraint = Constraint::from_json(&value);
    let constraint = constraint.map_err(|error| JobspecError::Constraint { path: path.to_string(), error })?;
    match inner_caret(&constraint) {
        Some(name) => Err(path.unexpected("`^` only in front of a property", format!("the property {}", quote(name)))),
        None => Ok(constraint),
    }
}

fn ranks_to_strings(value: &mut Value) {
    let Value::Object(object) = value else { return };
    for (operator, operands) in object.iter_mut() {
        let Value::Array(operands) = operands else { continue };
        for operand in operands {
            match operand.as_u64() {
                Some(rank) if operator == "ranks" => *operand = Value::String(rank.to_string()),
                _ => ranks_to_strings(operand),
            }
        }
    }
}

/// A property with `^` in its name.
fn inner_caret(constraint: &Constraint) -> Option<&str> {
    match constraint {
        Constraint::All | Constraint::Hostlist(_) | Constraint::Ranks(_) => None,
        Constraint::Properties(terms) => terms.iter().map(|term| term.name.as_str()).find(|name| name.contains('^')),
        Constraint::And(members) | Constraint::Or(members) | Constraint::Not(members) => {
            members.iter().find_map(inner_caret)
        }
    }
}

/// The job's name, and what stands beside it.
fn job(path: Path<'_>, value: &Value) -> Result<(Option<String>, Option<Object>)> {
    let mut keys = Keys::new(path, value)?;
    let name = keys.read("name", string)?;
    let rest = keys.rest();
    // An object without a name is kept even if it is empty.
    let kept = !rest.is_empty() || name.is_none();
    Ok((name, kept.then_some(rest)))
}

fn dependency(path: Path<'_>, value: &Value) -> Result<Dependency> {
    let mut keys = Keys::new(path, value)?;
    let scheme = string(path.key("scheme"), keys.need("scheme")?)?;
    let value = string(path.key("value"), keys.need("value")?)?;
    Ok(Dependency { scheme, value, extra: keys.rest() })
}
