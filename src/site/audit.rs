//! placeholder
use super::{Site, Violation};
pub fn audit(_site: &Site) -> Vec<Violation> {
    Vec::new()
}
