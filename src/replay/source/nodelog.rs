//! The node event log of a Flux instance (`resource.eventlog`, RFC 18 lines with the events of RFC 28's resource module).
//!
//! | event | context | here |
//! |---|---|---|
//! | `resource-init`, `restart` | `drain{IDSET: {timestamp, reason}}`, `online`, `exclude` | the full new state: what it does not name is offline, not drained |
//! | `online`, `offline` | `idset` | |
//! | `drain` | `idset`, `reason?`, `overwrite?` | reasons are for people; draining what is drained changes nothing but them |
//! | `undrain` | `idset` | |
//! | `resource-define`, `resource-update` | | no state of a node: skipped |
//!
//! An excluded rank takes no jobs: it counts as drained with the reason `excluded`, and undraining does not bring it back.
//! Any other event is an error, since skipping what one does not know would give a wrong state.

use crate::base::Timestamp;
use crate::formats::idset::Idset;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// One thing that happened to nodes, by rank.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeEvent {
    /// When.
    pub at: Timestamp,
    /// Where it stands in the log, from 1.
    pub line: usize,
    /// What.
    pub state: NodeState,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeState {
    /// The instance (re)started: this is the state of all ranks.
    Restart {
        /// Those that answer.
        online: Idset,
        /// Those that are drained, with the reasons.
        drained: Vec<(Idset, String)>,
        /// Those that take no jobs at all.
        excluded: Idset,
    },
    /// They answer.
    Online(Idset),
    /// They do not answer.
    Offline(Idset),
    /// They take no new work.
    Drain(Idset, String),
    /// They take work again.
    Undrain(Idset),
}

/// Why a log cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NodeLogError {
    /// A line that is no event.
    #[error("line {line}: expected an event {{timestamp, name, context}}, found {problem}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A context without what its event needs.
    #[error("line {line}: {event}: {problem}")]
    Context {
        /// The line, from 1.
        line: usize,
        /// The event's name.
        event: String,
        /// What is wrong.
        problem: String,
    },
    /// An event that is not known.
    #[error(
        "line {line}: unknown event {event}: expected resource-init, restart, online, offline, drain, undrain, resource-define or resource-update"
    )]
    Unknown {
        /// The line, from 1.
        line: usize,
        /// The event's name.
        event: String,
    },
    /// A time before that of the line above.
    #[error("line {line}: its time {at} is before that of the line above, {above}")]
    TimeBack {
        /// The line, from 1.
        line: usize,
        /// Its time.
        at: Timestamp,
        /// The time above.
        above: Timestamp,
    },
}

#[derive(Deserialize)]
struct Line {
    timestamp: f64,
    name: String,
    #[serde(default)]
    context: Value,
}

/// The events of a log, in its order. With `start` all times move so that the first is then.
///
/// # Errors
/// The first line that is not an event of such a log.
pub fn read_node_log(text: &str, start: Option<Timestamp>) -> Result<Vec<NodeEvent>, NodeLogError> {
    let mut events: Vec<NodeEvent> = Vec::new();
    let mut shift = None;
    let mut above = Timestamp::MIN;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = index + 1;
        let bad = |problem: String| NodeLogError::Line { line: number, problem };
        let parsed: Line = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
        let at = Timestamp::from_secs_f64(parsed.timestamp).ok_or_else(|| bad("a time that is no number".into()))?;
        let shift = *shift.get_or_insert(start.map_or(0, |s| s.micros().saturating_sub(at.micros())));
        let at = Timestamp::from_micros(at.micros().saturating_add(shift));
        if at < above {
            return Err(NodeLogError::TimeBack { line: number, at, above });
        }
        above = at;
        if let Some(state) = state(&parsed, number)? {
            events.push(NodeEvent { at, line: number, state });
        }
    }
    Ok(events)
}

fn state(event: &Line, line: usize) -> Result<Option<NodeState>, NodeLogError> {
    let bad = |problem: String| NodeLogError::Context { line, event: event.name.clone(), problem };
    let set = |key: &str, value: &Value| {
        let text = value.as_str().ok_or_else(|| bad(format!("expected an idset in `{key}`, found {value}")))?;
        Idset::parse(text).map_err(|e| bad(format!("{key}: {e}")))
    };
    let idset = |key: &str| set(key, event.context.get(key).unwrap_or(&Value::Null));
    let reason = |of: &Value| of.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Some(match event.name.as_str() {
        "online" => NodeState::Online(idset("idset")?),
        "offline" => NodeState::Offline(idset("idset")?),
        "drain" => NodeState::Drain(idset("idset")?, reason(&event.context)),
        "undrain" => NodeState::Undrain(idset("idset")?),
        "resource-init" | "restart" => {
            let drain = event.context.get("drain").and_then(Value::as_object);
            let drain = drain.ok_or_else(|| bad("expected an object in `drain`".into()))?;
            let drained = drain.iter().map(|(ranks, why)| {
                let ranks = Idset::parse(ranks).map_err(|e| bad(format!("drain: {e}")))?;
                Ok((ranks, reason(why)))
            });
            NodeState::Restart {
                online: idset("online")?,
                drained: drained.collect::<Result<_, NodeLogError>>()?,
                excluded: idset("exclude")?,
            }
        }
        "resource-define" | "resource-update" => return Ok(None),
        _ => return Err(NodeLogError::Unknown { line, event: event.name.clone() }),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Idset {
        Idset::parse(text).unwrap()
    }

    #[test]
    fn reads_every_kind_of_event() {
        let log = r#"{"timestamp":100.5,"name":"resource-init","context":{"restart":true,"drain":{"3-4":{"timestamp":1,"reason":"bad"}},"online":"","exclude":"0"}}
{"timestamp":100.6,"name":"resource-define","context":{"method":"configuration"}}
{"timestamp":101.5,"name":"online","context":{"idset":"0,2-3"}}
{"timestamp":101.5,"name":"offline","context":{"idset":"2"}}
{"timestamp":102,"name":"drain","context":{"idset":"3","overwrite":0}}

{"timestamp":103,"name":"undrain","context":{"idset":"3-4"}}
"#;
        let events = read_node_log(log, Some(Timestamp::from_secs(10))).unwrap();
        let restart =
            NodeState::Restart { online: ids(""), drained: vec![(ids("3-4"), "bad".into())], excluded: ids("0") };
        let expected = [
            (10_000_000, 1, restart),
            (11_000_000, 3, NodeState::Online(ids("0,2-3"))),
            (11_000_000, 4, NodeState::Offline(ids("2"))),
            (11_500_000, 5, NodeState::Drain(ids("3"), String::new())),
            (12_500_000, 7, NodeState::Undrain(ids("3-4"))),
        ];
        let expected =
            expected.map(|(at, line, state)| NodeEvent { at: Timestamp::from_micros(at), line, state }).to_vec();
        assert_eq!(events, expected);
    }

    #[test]
    fn refuses() {
        let cases = [
            ("x", "line 1: expected an event {timestamp, name, context}, found expected value at line 1 column 1"),
            (
                r#"{"timestamp":1,"name":"online","context":{}}"#,
                "line 1: online: expected an idset in `idset`, found null",
            ),
            (
                r#"{"timestamp":1,"name":"reboot","context":{}}"#,
                "line 1: unknown event reboot: expected resource-init, restart, online, offline, drain, undrain, resource-define or resource-update",
            ),
            (
                "{\"timestamp\":2,\"name\":\"online\",\"context\":{\"idset\":\"1\"}}\n{\"timestamp\":1,\"name\":\"online\",\"context\":{\"idset\":\"1\"}}",
                "line 2: its time 1 is before that of the line above, 2",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(read_node_log(text, None).unwrap_err().to_string(), expected);
        }
    }
}
