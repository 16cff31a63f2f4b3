//! Sessions on the command line, as people see them.

#[test]
fn sessions() {
    trycmd::TestCases::new()
        .case("tests/cmd/*.toml")
        .case("tests/cmd/*.trycmd")
        .case("docs/operate.md")
        .case("docs/queues.md")
        .case("docs/architectures.md")
        .case("docs/fixtures.md");
}
