//! Something that was asked for: what it is, or why that is not known.

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// What is known of something. In JSON `{"measured": …}`, or `{"not-measured": "why"}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found<T> {
    /// It was measured.
    Measured(T),
    /// It could not be, or was not asked for: why, and what to do.
    NotMeasured(String),
}

impl<T> Found<T> {
    /// What was measured; None where nothing was.
    pub fn measured(&self) -> Option<&T> {
        match self {
            Found::Measured(it) => Some(it),
            Found::NotMeasured(_) => None,
        }
    }

    /// Why nothing was measured; None where something was.
    pub fn why(&self) -> Option<&str> {
        match self {
            Found::Measured(_) => None,
            Found::NotMeasured(why) => Some(why),
        }
    }
}

/// The error is kept as its line of text.
impl<T> From<Result<T>> for Found<T> {
    fn from(result: Result<T>) -> Self {
        match result {
            Ok(it) => Found::Measured(it),
            Err(error) => Found::NotMeasured(error.to_string()),
        }
    }
}
