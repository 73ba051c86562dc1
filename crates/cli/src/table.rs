//! Tables that fit the terminal: one line a row, the last column gives way.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::error::Failure;
use crate::output::{Colour, Output};

/// The narrowest the last column gets.
const LAST_MIN: usize = 12;

/// A cell: a text that fits on a line, and its colour.
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
    let widths = widths(out.width(), heading, rows);
    let heading = heading.map(|text| Cell::coloured(Colour::Dim, text));
    for row in std::iter::once(&heading).chain(rows) {
        out.line(&line(out, row, &widths))?;
    }
    Ok(())
}

fn widths<const N: usize>(
    terminal: Option<usize>,
    heading: [&str; N],
    rows: &[[Cell; N]],
) -> [usize; N] {
    let mut widths = heading.map(UnicodeWidthStr::width);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.width());
        }
    }
    if let (Some(terminal), Some(last)) = (terminal, N.checked_sub(1)) {
        let before: usize = widths[..last].iter().map(|width| width + 2).sum();
        widths[last] = widths[last].min(terminal.saturating_sub(before).max(LAST_MIN));
    }
    widths
}

fn line<const N: usize>(out: &Output, row: &[Cell; N], widths: &[usize; N]) -> String {
    let cells: Vec<String> = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| {
            let text = fit(&cell.text, *width);
            let blank = " ".repeat(width.saturating_sub(text.width()));
            out.paint(cell.colour, &text) + &blank
        })
        .collect();
    cells.join("  ").trim_end().to_owned()
}

/// Cuts a text to a width, with a mark where it was cut.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
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

    #[test]
    fn a_text_that_is_too_long_is_cut_where_it_fits() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("longer", 5), "long…");
        assert_eq!(fit("漢字漢字", 5), "漢字…");
    }
}
