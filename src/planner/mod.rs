//! What is free, when.
