//! Version 1 (RFC 25): the jobspecs that every Flux takes.

use super::error::Path;
use super::{Jobspec, JobspecError, Resource, TaskCount};
use crate::formats::error::quote;

type Result = std::result::Result<(), JobspecError>;

impl Jobspec {
    /// Whether this is a jobspec of version 1: one resource of the shapes slot > core, slot > (core, gpu), or either
    /// of them in a node; fixed counts; one task for that slot, once per slot or a total; and a duration, though it
    /// be 0. `exclusive` may stand on the slot, as RFC 25 has it, or on the node, as Flux has it.
    ///
    /// # Errors
    /// The first that differs, with its path.
    pub fn validate_v1(&self) -> Result {
        let path = Path::Root;
        if self.version != 1 {
            return Err(path.key("version").unexpected("1", format!("the number {}", self.version)));
        }
        let top = path.key("resources");
        let resource = one(top, &self.resources, "exactly one resource")?;
        let at = top.index(0);
        let slot = match resource.kind.as_str() {
            "slot" => slot(at, resource)?,
            "node" => {
                plain(at, resource)?;
                absent(at, "label", resource.label.is_some())?;
                let with = at.key("with");
                let inner = one(with, &resource.with, "exactly one slot")?;
                if !inner.is_slot() {
                    return Err(with.index(0).key("type").unexpected("slot", kind(inner)));
                }
                slot(with.index(0), inner)?
            }
            _ => return Err(at.key("type").unexpected("node or slot", kind(resource))),
        };
        self.task_v1(slot)?;
        let system = &self.attributes.system;
        if system.duration.is_none() && !system.zero_duration {
            return Err(path.key("attributes").key("system").missing("duration"));
        }
        Ok(())
    }

    fn task_v1(&self, slot: &Resource) -> Result {
        let tasks = Path::Root.key("tasks");
        let task = one(tasks, &self.tasks, "exactly one task")?;
        let path = tasks.index(0);
        if slot.label.as_ref() != Some(&task.slot) {
            return Err(path
                .key("slot")
                .unexpected("the label of the slot", format!("the string {}", quote(&task.slot))));
        }
        const COUNT: &str = "per_slot of 1, or total";
        match &task.count {
            TaskCount::PerSlot(1) | TaskCount::Total(_) => {}
            TaskCount::PerSlot(n) => return Err(path.key("count").unexpected(COUNT, format!("per_slot of {n}"))),
            TaskCount::PerResource { .. } => return Err(path.key("count").unexpected(COUNT, "per_resource")),
        }
        no_extra(path, &task.extra)
    }
}

fn kind(resource: &Resource) -> String {
    format!("the string {}", quote(&resource.kind))
}

fn one<'a, T>(path: Path<'_>, items: &'a [T], expected: &'static str) -> std::result::Result<&'a T, JobspecError> {
    match items {
        [only] => Ok(only),
        _ => Err(path.unexpected(expected, items.len().to_string())),
    }
}

fn absent(path: Path<'_>, key: &str, present: bool) -> Result {
    let found = || format!("the key {}", quote(key));
    if present { Err(path.unexpected("only keys of version 1", found())) } else { Ok(()) }
}

fn no_extra(path: Path<'_>, extra: &serde_json::Map<String, serde_json::Value>) -> Result {
    extra.keys().next().map_or(Ok(()), |key| absent(path, key, true))
}

/// What version 1 asks of every resource.
fn plain(path: Path<'_>, resource: &Resource) -> Result {
    if !resource.count.is_fixed() {
        let found = format!("the count {}", resource.count);
        return Err(path.key("count").unexpected("one number in version 1", found));
    }
    absent(path, "id", resource.id.is_some())?;
    no_extra(path, &resource.extra)
}

/// A slot with cores and, perhaps, gpus.
fn slot<'a>(path: Path<'_>, slot: &'a Resource) -> std::result::Result<&'a Resource, JobspecError> {
    const CONTENT: &str = "cores and at most gpus beside them";
    plain(path, slot)?;
    let with = path.key("with");
    let mut kinds: Vec<&str> = slot.with.iter().map(|resource| resource.kind.as_str()).collect();
    kinds.sort_unstable();
    if !matches!(kinds[..], ["core"] | ["core", "gpu"]) {
        let found = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
        return Err(with.unexpected(CONTENT, found));
    }
    for (index, resource) in slot.with.iter().enumerate() {
        let path = with.index(index);
        plain(path, resource)?;
        absent(path, "with", !resource.with.is_empty())?;
        absent(path, "label", resource.label.is_some())?;
        absent(path, "exclusive", resource.exclusive.is_some())?;
    }
    Ok(slot)
}
