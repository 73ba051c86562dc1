//! Records commands and their output as a terminal shows them, one file a command.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::project::{GoldenProject, with_ids, words};
use crate::commands::support::{CliOutput, run_with};

/// Longer inputs are not shown in the transcript.
const INPUT_SHOWN_MAX: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    Text,
    Json,
}

/// A call of the binary, with a note about what it shows.
pub(super) struct RecordedCall<'a> {
    note: &'a str,
    line: &'a str,
    variables: Vec<(String, String)>,
    input: Option<String>,
}

impl<'a> RecordedCall<'a> {
    /// Parses a command line; `{7}` is the id of the seventh task.
    pub(super) fn new(note: &'a str, line: &'a str) -> Self {
        Self { note, line, variables: Vec::new(), input: None }
    }

    /// Sets the text on the command's standard input.
    pub(super) fn with_input(mut self, input: impl Into<String>) -> Self {
        self.input = Some(with_ids(&input.into()));
        self
    }

    /// Adds environment variables.
    pub(super) fn with_variables<N: ToString, V: ToString>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        for (name, value) in variables {
            let (name, value) = (name.to_string(), value.to_string());
            self.variables.retain(|(known, _)| *known != name);
            self.variables.push((name, value));
        }
        self
    }

    fn line(&self, form: OutputForm) -> String {
        let flag = if form == OutputForm::Json { " --json" } else { "" };
        with_ids(&format!("{}{flag}", self.line))
    }

    pub(super) fn run(&self, project: &GoldenProject, form: OutputForm) -> CliOutput {
        let mut command = project.command(&words(&self.line(form)));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        run_with(&mut command, self.input.as_deref().unwrap_or_default().as_bytes())
    }

    /// Runs the command, and returns the call with its output and exit code.
    pub(super) fn recorded(&self, project: &GoldenProject, form: OutputForm) -> String {
        let ran = self.run(project, form);
        let mut text = format!("# {}\n$ ", self.note);
        for (name, value) in &self.variables {
            let shown = if name == "ADJUTANT_RUN_TOKEN" { "<TOKEN>" } else { value };
            let _ = write!(text, "{name}={shown} ");
        }
        let _ = write!(text, "adjutant {}", self.line(form));
        match &self.input {
            Some(input) if input.len() > INPUT_SHOWN_MAX => {
                let _ = writeln!(text, " < ({} bytes)", input.len());
            }
            Some(input) => {
                let _ = write!(text, " <<'EOF'\n{}\nEOF\n", input.trim_end());
            }
            None => text.push('\n'),
        }
        text.push_str(&printed(&ran));
        project.masked(&text)
    }
}

/// Formats a command's output and exit code.
fn printed(ran: &CliOutput) -> String {
    let mut text: String = ran.out.split_inclusive('\n').map(indented).collect();
    end_line(&mut text);
    if !ran.err.is_empty() {
        let _ = write!(text, "[stderr]\n{}", ran.err);
        end_line(&mut text);
    }
    let _ = writeln!(text, "[exit {}]", ran.code);
    text
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str("[no line break]\n");
    }
}

/// Spreads a JSON document over several lines, for readable diffs. A line that differs from its
/// compact form stays unchanged, so no difference is hidden.
pub(super) fn indented(line: &str) -> String {
    match serde_json::from_str::<Value>(line) {
        Ok(value) if format!("{value}\n") == line && (value.is_object() || value.is_array()) => {
            format!("{value:#}\n")
        }
        _ => line.to_owned(),
    }
}

/// The recorded calls of one scenario, by command.
pub(super) struct CommandTranscript<'a> {
    form: OutputForm,
    /// The names of all commands.
    commands: &'a [String],
    recorded: BTreeMap<String, Vec<String>>,
}

impl<'a> CommandTranscript<'a> {
    pub(super) fn new(form: OutputForm, commands: &'a [String]) -> Self {
        Self { form, commands, recorded: BTreeMap::new() }
    }

    pub(super) fn form(&self) -> OutputForm {
        self.form
    }

    pub(super) fn run(&mut self, project: &GoldenProject, note: &str, line: &str) {
        self.call(project, &RecordedCall::new(note, line));
    }

    pub(super) fn call(&mut self, project: &GoldenProject, call: &RecordedCall<'_>) {
        let text = call.recorded(project, self.form);
        self.add(call.line, text);
    }

    /// Adds a text about a call that was made in another way.
    pub(super) fn add(&mut self, line: &str, text: String) {
        self.recorded.entry(self.command_of(line)).or_default().push(text);
    }

    /// Returns the longest command name that a line starts with.
    fn command_of(&self, line: &str) -> String {
        let words = words(line);
        let begins = |name: &&String| {
            let name: Vec<&str> = name.split_whitespace().collect();
            words.len() >= name.len() && words.iter().zip(&name).all(|(word, own)| word == own)
        };
        let found = self.commands.iter().filter(begins).max_by_key(|name| name.len());
        found.cloned().unwrap_or_default()
    }

    pub(super) fn into_recorded(self) -> BTreeMap<String, Vec<String>> {
        self.recorded
    }
}
