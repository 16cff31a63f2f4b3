//! Configurations and fragments of services in the file system.

use crate::config::layers::Library;
use crate::config::{ConfigError, ConfigErrors};
use crate::services::Fragment;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file system, as a library of configurations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

impl Library for Files {
    fn read(&self, file: &Path) -> Result<Option<String>, String> {
        match fs::read_to_string(file) {
            Ok(text) => Ok(Some(text)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn list(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(error.to_string()),
        };
        entries.map(|entry| entry.map(|entry| entry.path()).map_err(|error| error.to_string())).collect()
    }
}

/// The fragments of services in `services.d` of each directory, in the order of the directories, then of the names.
///
/// # Errors
/// A file that cannot be read, or all that is wrong with one.
pub fn fragments(directories: &[PathBuf]) -> Result<Vec<Fragment>, ConfigErrors> {
    let told = |path: &Path, message: String| {
        let message = format!("cannot read {}: {message}", path.display());
        ConfigErrors(vec![ConfigError::unplaced("", message)])
    };
    let (mut fragments, mut seen) = (Vec::new(), BTreeSet::new());
    for directory in directories {
        let directory = directory.join("services.d");
        let mut files = Files.list(&directory).map_err(|message| told(&directory, message))?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        for file in files.into_iter().filter(|file| seen.insert(file.clone())) {
            let text = Files.read(&file).map_err(|message| told(&file, message))?.unwrap_or_default();
            fragments.push(Fragment::parse(&text, &file.to_string_lossy())?);
        }
    }
    Ok(fragments)
}
