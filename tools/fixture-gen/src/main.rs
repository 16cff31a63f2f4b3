//! Writes the scenarios of `graph-fixtures/` from a seed.
fn main() {}
