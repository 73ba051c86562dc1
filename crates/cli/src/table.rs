//! Prints tables that fit the terminal, one line a row. The last column is cut first; if that is
//! not enough, the columns before it are left out, from the right.

use adjutant_query::text::fit;
use unicode_width::UnicodeWidthStr;

use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour};

/// The last column is not cut below this width while another column can be left out.
const LAST_WIDTH_MIN: usize = 12;

const GAP: &str = "  ";

/// A cell's text is cleaned and fits on one line.
#[derive(Clone)]
pub(crate) struct TableCell {
    text: String,
    colour: TextColour,
}

impl TableCell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::coloured(TextColour::Plain, text)
    }

    pub(crate) fn coloured(colour: TextColour, text: impl Into<String>) -> Self {
        Self { text: crate::output::clean(&text.into()), colour }
    }
}

pub(crate) fn print<const N: usize>(
    out: &CommandOutput,
    heading: [&str; N],
    rows: &[[TableCell; N]],
) -> Result<(), CommandFailure> {
    let mut lines = out.lines();
    for line in render(heading, rows, out.width(), &|colour, text| out.paint(colour, text)) {
        lines.push(&line)?;
    }
    lines.flush()
}

fn render<const N: usize>(
    heading: [&str; N],
    rows: &[[TableCell; N]],
    terminal: Option<usize>,
    paint: &dyn Fn(TextColour, &str) -> String,
) -> Vec<String> {
    let heading = heading.map(|text| TableCell::coloured(TextColour::Dim, text));
    let mut widths = [0; N];
    for row in std::iter::once(&heading).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.width());
        }
    }
    let columns = fit_columns(&widths, terminal);
    std::iter::once(&heading).chain(rows).map(|row| render_row(row, &columns, paint)).collect()
}

/// Returns the indexes and widths of the columns to show.
fn fit_columns(widths: &[usize], terminal: Option<usize>) -> Vec<(usize, usize)> {
    let mut columns: Vec<(usize, usize)> = widths.iter().copied().enumerate().collect();
    let Some(terminal) = terminal else { return columns };
    let Some((last, wanted)) = columns.pop() else { return columns };
    let room = |before: &[(usize, usize)]| {
        let taken: usize = before.iter().map(|(_, width)| width + GAP.len()).sum();
        terminal.saturating_sub(taken)
    };
    while columns.len() > 1 && room(&columns) < wanted.min(LAST_WIDTH_MIN) {
        columns.pop();
    }
    let left = room(&columns);
    columns.push((last, wanted.min(left)));
    columns
}

fn render_row(
    row: &[TableCell],
    columns: &[(usize, usize)],
    paint: &dyn Fn(TextColour, &str) -> String,
) -> String {
    let cells: Vec<String> = columns
        .iter()
        .map(|(column, width)| {
            let cell = &row[*column];
            let text = fit(&cell.text, *width);
            let blank = " ".repeat(width.saturating_sub(text.width()));
            paint(cell.colour, &text) + &blank
        })
        .collect();
    cells.join(GAP).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(terminal: Option<usize>) -> Vec<String> {
        let row = |id: &str, status: &str, agent: &str, title: &str| {
            [id, status, agent, title].map(TableCell::new)
        };
        let rows = [
            row("TASK-1", "in-progress", "swe-backend", "Build the users API with all its routes"),
            row("TASK-2", "done", "-", "漢字漢字漢字漢字"),
        ];
        render(["TASK", "STATUS", "AGENT", "TITLE"], &rows, terminal, &|_, text| text.to_owned())
    }

    #[test]
    fn table_is_not_cut_without_width_limit() {
        let whole = [
            "TASK    STATUS       AGENT        TITLE",
            "TASK-1  in-progress  swe-backend  Build the users API with all its routes",
            "TASK-2  done         -            漢字漢字漢字漢字",
        ];
        assert_eq!(rendered(None), whole);
        assert_eq!(rendered(Some(200)), whole);
    }

    #[test]
    fn table_cuts_last_column_first() {
        let cut = [
            "TASK    STATUS       AGENT        TITLE",
            "TASK-1  in-progress  swe-backend  Build the us…",
            "TASK-2  done         -            漢字漢字漢字…",
        ];
        assert_eq!(rendered(Some(47)), cut);
    }

    #[test]
    fn table_leaves_out_columns_from_the_right() {
        let cut = ["TASK    STATUS       TITLE", "TASK-1  in-progress  Build the users AP…"];
        assert_eq!(rendered(Some(40))[..2], cut);
        assert_eq!(rendered(Some(20))[..2], ["TASK    TITLE", "TASK-1  Build the u…"]);
        assert_eq!(rendered(Some(9))[..2], ["TASK    …", "TASK-1  …"]);
    }

    #[test]
    fn table_line_is_never_wider_than_terminal() {
        for terminal in 8..100 {
            for line in rendered(Some(terminal)) {
                assert!(line.width() <= terminal, "{terminal}: {line:?}");
            }
        }
    }
}
