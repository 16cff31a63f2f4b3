//! Configurations in the file system.

use crate::config::layers::Library;
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
