//! How a request is stored in a snapshot: counts and constraints in the JSON forms of RFC 14 and RFC 31.

use crate::formats::constraint::Constraint;
use crate::formats::count::Count;
use crate::matcher::{Amount, PoolNeed, PoolNeeds, Request, Shape, Within};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::sync::Arc;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ShapeRecord {
    Whole { nodes: Value, at_least: Amount, slots_per_node: u32 },
    Nodes { nodes: Value, slots: Value, slot: Amount },
    Slots { slots: Value, slot: Amount },
}

#[derive(Serialize, Deserialize)]
struct RequestRecord {
    shape: ShapeRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    constraint: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pools: Vec<PoolNeed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    within: Option<Within>,
}

impl From<&Request> for RequestRecord {
    fn from(request: &Request) -> Self {
        let shape = match &request.shape {
            Shape::Whole { nodes, at_least, slots_per_node } => {
                ShapeRecord::Whole { nodes: nodes.to_json(), at_least: *at_least, slots_per_node: *slots_per_node }
            }
            Shape::Nodes { nodes, slots, slot } => {
                ShapeRecord::Nodes { nodes: nodes.to_json(), slots: slots.to_json(), slot: *slot }
            }
            Shape::Slots { slots, slot } => ShapeRecord::Slots { slots: slots.to_json(), slot: *slot },
        };
        RequestRecord {
            shape,
            constraint: request.constraint.as_ref().map(Constraint::to_json),
            pools: request.shared.needs.clone(),
            within: request.shared.within.clone(),
        }
    }
}

impl RequestRecord {
    fn read<E: serde::de::Error>(self) -> Result<Request, E> {
        let count = |value: &Value| Count::from_json(value).map_err(E::custom);
        let shape = match self.shape {
            ShapeRecord::Whole { nodes, at_least, slots_per_node } => {
                Shape::Whole { nodes: count(&nodes)?, at_least, slots_per_node }
            }
            ShapeRecord::Nodes { nodes, slots, slot } => {
                Shape::Nodes { nodes: count(&nodes)?, slots: count(&slots)?, slot }
            }
            ShapeRecord::Slots { slots, slot } => Shape::Slots { slots: count(&slots)?, slot },
        };
        let constraint = self.constraint.as_ref().map(Constraint::from_json).transpose().map_err(E::custom)?;
        let shared = PoolNeeds { needs: self.pools, within: self.within };
        Ok(Request { shape, constraint, shared })
    }
}

/// For `#[serde(with = …)]`.
pub(super) mod request {
    use super::*;

    pub fn serialize<S: Serializer>(request: &Arc<Request>, to: S) -> Result<S::Ok, S::Error> {
        RequestRecord::from(&**request).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Request>, D::Error> {
        RequestRecord::deserialize(from)?.read().map(Arc::new)
    }
}

/// For `#[serde(with = …)]`.
pub(super) mod optional_request {
    use super::*;

    pub fn serialize<S: Serializer>(request: &Option<Arc<Request>>, to: S) -> Result<S::Ok, S::Error> {
        request.as_deref().map(RequestRecord::from).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Arc<Request>>, D::Error> {
        Option::<RequestRecord>::deserialize(from)?.map(|r| r.read().map(Arc::new)).transpose()
    }
}
