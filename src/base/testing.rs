//! How property tests inside the library run: their failing seeds are kept under `tests/regressions/`.

use proptest::test_runner::{Config, FileFailurePersistence};

/// What proptest runs when `PROPTEST_CASES` says nothing else.
const UNSET: u32 = 256;

/// As many cases as `PROPTEST_CASES` says, else `cases`.
pub(crate) fn config(cases: u32) -> Config {
    let seeds = FileFailurePersistence::SourceParallel("tests/regressions");
    let default = Config { failure_persistence: Some(Box::new(seeds)), ..Config::default() };
    if default.cases == UNSET { Config { cases, ..default } } else { default }
}
