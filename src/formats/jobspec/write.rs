//! From a jobspec to text.

use super::{Attributes, Dependency, Jobspec, Resource, System, Task, TaskCount};
use crate::base::Duration;
use crate::formats::yaml;
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

impl Jobspec {
    /// The jobspec as JSON; what is absent is left out.
    pub fn to_json(&self) -> Value {
        let mut object = Object::new();
        put(&mut object, "version", Some(self.version));
        put(&mut object, "resources", Some(resources(&self.resources)));
        put(&mut object, "tasks", Some(self.tasks.iter().map(task).collect::<Value>()));
        put(&mut object, "attributes", Some(attributes(&self.attributes)));
        with_extra(object, &self.extra).into()
    }

    /// The jobspec as YAML.
    pub fn to_yaml(&self) -> String {
        yaml::write(&self.to_json())
    }
}

fn put(object: &mut Object, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value.into());
    }
}

/// Keys that have a field of their own are not taken from `extra`.
fn with_extra(mut object: Object, extra: &Object) -> Object {
    for (key, value) in extra {
        object.entry(key.as_str()).or_insert_with(|| value.clone());
    }
    object
}

fn resources(resources: &[Resource]) -> Value {
    resources.iter().map(resource).collect()
}

fn resource(resource: &Resource) -> Value {
    let mut object = Object::new();
    put(&mut object, "type", Some(resource.kind.as_str()));
    put(&mut object, "count", Some(resource.count.to_json()));
    put(&mut object, "unit", resource.unit.as_deref());
    put(&mut object, "exclusive", resource.exclusive);
    put(&mut object, "label", resource.label.as_deref());
    put(&mut object, "id", resource.id.as_deref());
    put(&mut object, "with", (!resource.with.is_empty()).then(|| resources(&resource.with)));
    with_extra(object, &resource.extra).into()
}

fn task(task: &Task) -> Value {
    let count = match &task.count {
        TaskCount::PerSlot(count) => json!({ "per_slot": count }),
        TaskCount::Total(count) => json!({ "total": count }),
        TaskCount::PerResource { kind, count } => json!({ "per_resource": { "type": kind, "count": count } }),
    };
    let mut object = Object::new();
    put(&mut object, "command", Some(task.command.clone()));
    put(&mut object, "slot", Some(task.slot.as_str()));
    put(&mut object, "count", Some(count));
    with_extra(object, &task.extra).into()
}

fn attributes(attributes: &Attributes) -> Value {
    let system = system(&attributes.system);
    let mut object = Object::new();
    put(&mut object, "system", (!system.is_empty()).then_some(system));
    put(&mut object, "user", attributes.user.clone());
    Value::Object(object)
}

fn system(system: &System) -> Object {
    let mut object = Object::new();
    let zero = system.zero_duration.then(|| json!(0));
    put(&mut object, "duration", system.duration.map(seconds).or(zero));
    put(&mut object, "queue", system.queue.as_deref());
    put(&mut object, "constraints", system.constraints.as_ref().map(|constraint| constraint.to_json()));
    let dependencies = (!system.dependencies.is_empty()).then_some(&system.dependencies);
    put(&mut object, "dependencies", dependencies.map(|all| all.iter().map(dependency).collect::<Value>()));
    put(&mut object, "preemptible-after", system.preemptible_after.map(seconds));
    put(&mut object, "environment", system.environment.clone());
    put(&mut object, "cwd", system.cwd.as_deref());
    put(&mut object, "bank", system.bank.as_deref());
    put(&mut object, "project", system.project.as_deref());
    put(&mut object, "job", system.job_name.as_ref().map(|name| job(name, system.extra.get("job"))));
    with_extra(object, &system.extra)
}

fn job(name: &str, rest: Option<&Value>) -> Value {
    let mut object = rest.and_then(Value::as_object).cloned().unwrap_or_default();
    put(&mut object, "name", Some(name));
    Value::Object(object)
}

fn dependency(dependency: &Dependency) -> Value {
    let mut object = Object::new();
    put(&mut object, "scheme", Some(dependency.scheme.as_str()));
    put(&mut object, "value", Some(dependency.value.as_str()));
    with_extra(object, &dependency.extra).into()
}

/// Whole seconds where it is so. Unlimited has no number; it is written as the 0 that means "no limit of its own".
fn seconds(duration: Duration) -> Value {
    if duration.is_infinite() {
        json!(0)
    } else if duration.micros() % 1_000_000 == 0 {
        json!(duration.micros() / 1_000_000)
    } else {
        json!(duration.secs_f64())
    }
}
