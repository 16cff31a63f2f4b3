//! Writes the scenarios of `graph-fixtures/` from fixed seeds.
//!
//! A fixture is code here and files there: the files are what is read and replayed, the code is what is changed. Equal
//! code writes equal files on every machine (whole numbers only, one stream of random numbers per purpose).
//! `--check` writes nothing and says whether the files are what would be written.

mod fixtures;
mod random;
mod swf;

use clap::Parser;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

/// One file of a fixture.
struct File {
    /// Relative to the directory of fixtures.
    path: String,
    text: String,
}

impl File {
    fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        File { path: path.into(), text: text.into() }
    }
}

/// Writes the scenarios of graph-fixtures/.
#[derive(Parser)]
struct Arguments {
    /// Write nothing; fail if the files are not what would be written.
    #[arg(long)]
    check: bool,
    /// The directory of fixtures.
    #[arg(long, default_value = "graph-fixtures")]
    directory: PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let files = fixtures::all();
    let result = if arguments.check {
        differences(&arguments.directory, &files)
    } else {
        write(&arguments.directory, &files).map(|()| Vec::new())
    };
    match result {
        Ok(differences) if differences.is_empty() => ExitCode::SUCCESS,
        Ok(differences) => {
            for difference in differences {
                eprintln!("{difference}");
            }
            eprintln!("run `cargo run -p fixture-gen` and look at the difference");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{}: {error}", arguments.directory.display());
            ExitCode::FAILURE
        }
    }
}

fn write(directory: &Path, files: &[File]) -> io::Result<()> {
    for file in files {
        let path = directory.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, &file.text)?;
    }
    Ok(())
}

/// What would have to be written, and what nobody writes.
fn differences(directory: &Path, files: &[File]) -> io::Result<Vec<String>> {
    let mut found = BTreeSet::new();
    collect(directory, directory, &mut found)?;
    let mut wrong = Vec::new();
    for file in files {
        if !found.remove(&file.path) {
            wrong.push(format!("{}: missing", file.path));
        } else if fs::read_to_string(directory.join(&file.path))? != file.text {
            wrong.push(format!("{}: differs from what is generated", file.path));
        }
    }
    wrong.extend(found.into_iter().map(|path| format!("{path}: not generated")));
    Ok(wrong)
}

fn collect(top: &Path, directory: &Path, into: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(top, &path, into)?;
        } else if let Ok(below) = path.strip_prefix(top) {
            into.insert(below.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_twice_gives_the_same() {
        let (first, second) = (fixtures::all(), fixtures::all());
        assert!(first.iter().zip(&second).all(|(a, b)| a.path == b.path && a.text == b.text));
        let paths: BTreeSet<_> = first.iter().map(|f| &f.path).collect();
        assert_eq!(paths.len(), first.len(), "two fixtures write one file");
    }

    #[test]
    fn differences_are_found() {
        let directory = std::env::temp_dir().join(format!("fixture-gen-{}", std::process::id()));
        let files = [File::new("a/x", "1\n"), File::new("b", "2\n")];
        write(&directory, &files).expect("writes");
        assert_eq!(differences(&directory, &files).expect("reads"), Vec::<String>::new());
        fs::write(directory.join("a/x"), "3\n").expect("writes");
        fs::write(directory.join("c"), "").expect("writes");
        fs::remove_file(directory.join("b")).expect("removes");
        let wrong = differences(&directory, &files).expect("reads");
        fs::remove_dir_all(&directory).expect("removes");
        assert_eq!(wrong, ["a/x: differs from what is generated", "b: missing", "c: not generated"]);
    }
}
