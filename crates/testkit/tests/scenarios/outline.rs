//! Scenario outlines: the same steps once for every row of examples.

use gherkin::{Examples, Scenario, Step, Table};

/// One example: the name and the value of each column.
type ExampleRow = Vec<(String, String)>;

/// Returns the steps of a scenario, once for every example; without examples, once.
pub(crate) fn cases(scenario: &Scenario) -> Vec<Vec<Step>> {
    if scenario.examples.is_empty() {
        return vec![scenario.steps.clone()];
    }
    let rows = scenario.examples.iter().flat_map(rows);
    rows.map(|row| scenario.steps.iter().map(|step| fill_step(step, &row)).collect()).collect()
}

fn rows(examples: &Examples) -> Vec<ExampleRow> {
    let rows = examples.table.as_ref().map(|table| table.rows.as_slice()).unwrap_or_default();
    let Some((head, rows)) = rows.split_first() else { return vec![] };
    let named = |row: &Vec<String>| head.iter().cloned().zip(row.iter().cloned()).collect();
    rows.iter().map(named).collect()
}

fn fill_step(step: &Step, row: &ExampleRow) -> Step {
    let fill = |text: &String| fill_text(text, row);
    let cells = |cells: &Vec<String>| cells.iter().map(fill).collect();
    Step {
        value: fill(&step.value),
        docstring: step.docstring.as_ref().map(fill),
        table: step
            .table
            .as_ref()
            .map(|table| Table { rows: table.rows.iter().map(cells).collect(), ..table.clone() }),
        ..step.clone()
    }
}

fn fill_text(text: &str, row: &ExampleRow) -> String {
    row.iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
}
