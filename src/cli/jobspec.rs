//! `sluice jobspec validate`.

use super::diagnostic::Failure;
use super::exit::Exit;
use crate::formats::jobspec::Jobspec;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Reads every document of every file; of none, of standard input. Says nothing if all are jobspecs.
pub(super) fn validate(files: &[PathBuf]) -> Result<Exit, Failure> {
    if files.is_empty() {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::new(format!("cannot read standard input: {error}"), None))?;
        check(Path::new("standard input"), &bytes)?;
    }
    for file in files {
        let bytes = std::fs::read(file)
            .map_err(|error| Failure::new(format!("cannot open {}: {error}", file.display()), None))?;
        check(file, &bytes)?;
    }
    Ok(Exit::Ok)
}

fn check(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let refused = |what: String| {
        let help = "RFC 14 and RFC 25 describe jobspecs".to_owned();
        Failure::new(format!("{}: {what}", file.display()), Some(help)).with(Exit::Found)
    };
    let text = std::str::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    for document in documents(text) {
        Jobspec::from_yaml_str(&document).map_err(|error| refused(error.to_string()))?;
    }
    Ok(())
}

/// The documents of a YAML stream, each behind as many line breaks as keep its lines where they are.
///
/// `---` at the beginning of a line separates, wherever it stands (YAML 1.2, 9.1.2); `...` ends. A stream without any
/// text is one empty document.
fn documents(text: &str) -> Vec<String> {
    let mut documents = Vec::new();
    let (mut document, mut first) = (String::new(), 0);
    let mut has_text = false;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let word = line.trim_end();
        let begins = word == "---" || line.starts_with("--- ") || line.starts_with("---\t");
        if begins || word == "..." {
            if has_text {
                documents.push("\n".repeat(first) + &document);
            }
            document.clear();
            (first, has_text) = (number, begins && word != "---");
        }
        if word != "..." {
            let plain = word.trim_start();
            has_text |= !(begins || plain.is_empty() || plain.starts_with('#') || plain.starts_with('%'));
            document.push_str(line);
        } else {
            document.push('\n');
        }
    }
    if has_text || documents.is_empty() {
        documents.push("\n".repeat(first) + &document);
    }
    documents
}

#[cfg(test)]
mod tests {
    use super::documents;

    #[test]
    fn streams_have_documents() {
        let check = |text: &str, expected: &[&str]| assert_eq!(documents(text), expected, "{text:?}");
        check("a: 1\n", &["a: 1\n"]);
        check("", &[""]);
        check("# only\n", &["# only\n"]);
        check("%YAML 1.2\n---\na: 1\n", &["\n---\na: 1\n"]);
        check("a: 1\n---\nb: 2\n", &["a: 1\n", "\n---\nb: 2\n"]);
        check("a: 1\n...\n--- b\n", &["a: 1\n", "\n\n--- b\n"]);
        check("a: 1\n---\n", &["a: 1\n"]);
    }
}
