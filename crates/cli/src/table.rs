//! Tables that fit the terminal: one line a row. The last column gives way first; where that is
//! not enough, the columns before it are left out, from the right.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::error::Failure;
use crate::output::{Colour, Output};

/// The narrowest the last column gets while there are others to leave out.
const LAST_MIN: usize = 12;

/// What stands between two columns.
const GAP: &str = "  ";

/// A cell: a text that fits on a line, and its colour.
#[derive(Clone)]
pub(crate) struct Cell {
    text: String,
    colour: Colour,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::coloured(Colour::Plain, text)
    }

    pub(crate) fn coloured(colour: Colour, text: impl Into<String>) -> Self {
        Self { text: crate::output::clean(&text.into()), colour }
    }
}

/// Prints a table: a heading, and a line a row.
pub(crate) fn print<const N: usize>(
    out: &Output,
    heading: [&str; N],
    rows: &[[Cell; N]],
) -> Result<(), Failure> {
    let mut lines = out.lines();
    for line in render(heading, rows, out.width(), &|colour, text| out.paint(colour, text)) {
        lines.push(&line)?;
    }
    lines.flush()
}

fn render<const N: usize>(
    heading: [&str; N],
    rows: &[[Cell; N]],
    terminal: Option<usize>,
    paint: &dyn Fn(Colour, &str) -> String,
) -> Vec<String> {
    let heading = heading.map(|text| Cell::coloured(Colour::Dim, text));
    let mut widths = [0; N];
    for row in std::iter::once(&heading).chain(rows) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.width());
        }
    }
    let columns = columns(&widths, terminal);
    std::iter::once(&heading).chain(rows).map(|row| line(row, &columns, paint)).collect()
}

/// Returns which columns are shown, and how wide.
fn columns(widths: &[usize], terminal: Option<usize>) -> Vec<(usize, usize)> {
    let mut columns: Vec<(usize, usize)> = widths.iter().copied().enumerate().collect();
    let Some(terminal) = terminal else { return columns };
    let Some((last, wanted)) = columns.pop() else { return columns };
    let room = |before: &[(usize, usize)]| {
        let taken: usize = before.iter().map(|(_, width)| width + GAP.len()).sum();
        terminal.saturating_sub(taken)
    };
    while columns.len() > 1 && room(&columns) < wanted.min(LAST_MIN) {
        columns.pop();
    }
    let left = room(&columns);
    columns.push((last, wanted.min(left)));
    columns
}

fn line(
    row: &[Cell],
    columns: &[(usize, usize)],
    paint: &dyn Fn(Colour, &str) -> String,
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

/// Cuts a text to a width, with a mark where it was cut.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    let mut room = width - 1;
    let kept = text.chars().take_while(|c| {
        let needed = c.width().unwrap_or(0);
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    });
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(terminal: Option<usize>) -> Vec<String> {
        let row = |id: &str, status: &str, agent: &str, title: &str| {
            [id, status, agent, title].map(Cell::new)
        };
        let rows = [
            row("TASK-1", "in-progress", "swe-backend", "Build the users API with all its routes"),
            row("TASK-2", "done", "-", "漢字漢字漢字漢字"),
        ];
        render(["TASK", "STATUS", "AGENT", "TITLE"], &rows, terminal, &|_, text| text.to_owned())
    }

    #[test]
    fn where_lines_may_be_long_nothing_is_cut() {
        let whole = [
            "TASK    STATUS       AGENT        TITLE",
            "TASK-1  in-progress  swe-backend  Build the users API with all its routes",
            "TASK-2  done         -            漢字漢字漢字漢字",
        ];
        assert_eq!(rendered(None), whole);
        assert_eq!(rendered(Some(200)), whole);
    }

    #[test]
    fn the_last_column_gives_way_first() {
        let cut = [
            "TASK    STATUS       AGENT        TITLE",
            "TASK-1  in-progress  swe-backend  Build the us…",
            "TASK-2  done         -            漢字漢字漢字…",
        ];
        assert_eq!(rendered(Some(47)), cut);
    }

    #[test]
    fn then_columns_are_left_out_from_the_right() {
        let cut = ["TASK    STATUS       TITLE", "TASK-1  in-progress  Build the users AP…"];
        assert_eq!(rendered(Some(40))[..2], cut);
        assert_eq!(rendered(Some(20))[..2], ["TASK    TITLE", "TASK-1  Build the u…"]);
        assert_eq!(rendered(Some(9))[..2], ["TASK    …", "TASK-1  …"]);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for terminal in 8..100 {
            for line in rendered(Some(terminal)) {
                assert!(line.width() <= terminal, "{terminal}: {line:?}");
            }
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_where_it_fits() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("longer", 5), "long…");
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("longer", 0), "");
    }
}
