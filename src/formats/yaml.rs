//! YAML to JSON values: the one place that knows the YAML library.
//!
//! YAML here is what has a JSON equivalent (version 1.2: `yes` and `off` are strings): one document, unique keys, no
//! infinite numbers. Input is untrusted: nesting, size and the replay of aliases are bounded.

use serde_json::Value;
use thiserror::Error;

/// The deepest nesting, that of `serde_json` for JSON text.
const MAX_DEPTH: usize = 128;
/// The most nodes, whether written or replayed from aliases.
const MAX_NODES: usize = 250_000;

/// Why a text is not YAML, or not within the bounds.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}, column {column}: {what}")]
pub struct YamlError {
    /// The line, from 1; 0 where the reader knows no place.
    pub line: u64,
    /// The column, from 1; 0 likewise.
    pub column: u64,
    /// What is wrong, in the reader's words.
    pub what: String,
}

/// Reads one YAML document.
pub(crate) fn read(text: &str) -> Result<Value, YamlError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_NODES,
        },
        strict_booleans: true,
        emit_comments: false,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location();
        let (line, column) = place.map_or((0, 0), |place| (place.line(), place.column()));
        // The reader's own words come on one line, with the place in them: it is not said twice.
        let words = error.without_snippet().to_string();
        let what = words.lines().next().unwrap_or_default();
        let what = what.split_once(&format!(" at line {line}")).map_or(what, |(what, _)| what);
        YamlError { line, column, what: what.to_owned() }
    })
}

/// Writes a value as a YAML document.
pub(crate) fn write(value: &Value) -> String {
    // A JSON value has nothing that YAML cannot hold, and writing to a string does not fail.
    serde_saphyr::to_string(value).unwrap_or_else(|_| value.to_string())
}
