//! The tool: options, standard input, a prompt.

use resource_query::{Flow, Options, Outputs, Parsed, Session, USAGE};
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Parsed::Run { options, warnings }) => {
            for warning in warnings {
                eprintln!("{warning}");
            }
            *options
        }
        Ok(Parsed::Help) => {
            eprint!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}");
            eprint!("{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("resource-query: ERROR: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let test_output = options.test_output.clone();
    let mut session = Session::new(options)?;
    let mut test = test_output.map(File::create).transpose()?.map(BufWriter::new);
    let (mut stdout, mut stderr) = (io::stdout().lock(), io::stderr().lock());
    let mut outputs = Outputs::new(test.as_mut().map(|file| file as &mut dyn Write), &mut stdout, &mut stderr);
    session.introduce(&mut outputs)?;
    let mut line = Vec::new();
    let mut input = io::stdin().lock();
    loop {
        if let Some(prompt) = session.prompt() {
            outputs.prompt(prompt)?;
        }
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let flow = session.line(&String::from_utf8_lossy(&line), &mut outputs)?;
        outputs.flush()?;
        if flow == Flow::End {
            break;
        }
    }
    session.finish(&mut outputs)?;
    outputs.flush()?;
    Ok(())
}
