//! Facts as one JSON object.

use serde::Serialize;

use crate::baseline::Comparison;

/// The same envelope for every command.
#[derive(Serialize)]
struct Envelope<'a, F> {
    schema: &'a str,
    facts: &'a [F],
    errors: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a Comparison>,
}

/// The facts as one object: `schema` (the command's name and the version of its facts, as in
/// `barest.image/1`), `facts` (one element for each thing that was measured) and `errors` (one
/// line for each that could not be). Within a version, fields are added but none changes.
pub fn render(schema: &str, facts: &[impl Serialize], errors: &[String]) -> String {
    render_compared(schema, facts, errors, None)
}

/// As [`render`], and `baseline`: how the facts compare with one.
pub fn render_compared(
    schema: &str,
    facts: &[impl Serialize],
    errors: &[String],
    baseline: Option<&Comparison>,
) -> String {
    let envelope = Envelope {
        schema,
        facts,
        errors,
        baseline,
    };
    // Only a map whose keys are no strings cannot be written, and facts hold none.
    match serde_json::to_string_pretty(&envelope) {
        Ok(text) => text + "\n",
        Err(error) => unreachable!("facts that JSON cannot hold: {error}"),
    }
}
