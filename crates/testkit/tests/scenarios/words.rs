//! What a step says beside its pattern: the words at its places, a text or a table below it.

use serde_json::Value;

/// The words of one step.
pub(crate) struct Words {
    captured: Vec<String>,
    text: Option<String>,
    table: Option<Vec<Vec<String>>>,
}

impl Words {
    /// Takes the words of a step.
    pub(crate) fn new(captured: Vec<String>, step: &gherkin::Step) -> Self {
        let text = step.docstring.as_deref().map(unframed);
        Self { captured, text, table: step.table.as_ref().map(|table| table.rows.clone()) }
    }

    /// Returns the word at a place.
    pub(crate) fn at(&self, place: usize) -> &str {
        &self.captured[place]
    }

    /// Returns the words at two places.
    pub(crate) fn pair(&self) -> (&str, &str) {
        (self.at(0), self.at(1))
    }

    /// Returns the text below the step; every line of it ends in a line break.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().expect("the step has a text below it")
    }

    /// Returns the text below the step as JSON.
    pub(crate) fn json(&self) -> Value {
        json(self.text())
    }

    /// Returns the rows of the table below the step.
    pub(crate) fn table(&self) -> &[Vec<String>] {
        self.table.as_deref().expect("the step has a table below it")
    }
}

/// Reads JSON that a feature file gives.
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON: {error}: {text}"))
}

/// The line breaks after the opening and before the closing quotes are not part of the text.
fn unframed(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    format!("{}\n", text.trim_end_matches([' ', '\n']))
}
