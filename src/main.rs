//! The `sluice` program.

fn main() -> std::process::ExitCode {
    sluice::cli::main()
}
