//! The sessions in README.md are run.

#[test]
fn sessions_come_out_as_printed() {
    trycmd::TestCases::new().case("README.md");
}
