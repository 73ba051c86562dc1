//! The arguments of a step: the values of its placeholders, and a text or a table below it.

use serde_json::Value;

pub(crate) struct StepArguments {
    captured: Vec<String>,
    text: Option<String>,
    table: Option<Vec<Vec<String>>>,
}

impl StepArguments {
    pub(crate) fn new(captured: Vec<String>, step: &gherkin::Step) -> Self {
        let text = step.docstring.as_deref().map(strip_frame);
        Self { captured, text, table: step.table.as_ref().map(|table| table.rows.clone()) }
    }

    pub(crate) fn captured(&self, place: usize) -> &str {
        &self.captured[place]
    }

    pub(crate) fn captured_pair(&self) -> (&str, &str) {
        (self.captured(0), self.captured(1))
    }

    /// Returns the text below the step; every line of it ends in a line break.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().expect("the step has a text below it")
    }

    pub(crate) fn json(&self) -> Value {
        json(self.text())
    }

    /// Returns the rows of the table below the step, its head included.
    pub(crate) fn table(&self) -> &[Vec<String>] {
        self.table.as_deref().expect("the step has a table below it")
    }
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON: {error}: {text}"))
}

/// Removes the line breaks after the opening and before the closing quotes.
fn strip_frame(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    format!("{}\n", text.trim_end_matches([' ', '\n']))
}
