//! The table.

use tempfile::TempDir;

/// What was measured.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<[String; 5]>,
    kept: Vec<TempDir>,
}

impl Report {
    /// Keeps a folder until all is measured. A file system goes round what was freed in the last
    /// minutes, and whoever makes files while many were just removed pays for that.
    pub(crate) fn keep(&mut self, folder: TempDir) {
        self.kept.push(folder);
    }

    /// Adds a line: what, how much, the floor, the ratio of the two, and the target.
    pub(crate) fn add(
        &mut self,
        what: &str,
        value: String,
        floor: String,
        ratio: String,
        target: &str,
    ) {
        println!("  {what}: {value} {ratio}");
        self.rows.push([what.to_owned(), value, floor, ratio, target.to_owned()]);
    }

    /// Prints the table in Markdown.
    pub(crate) fn print(&self) {
        let heading = ["what", "measured", "floor", "ratio", "target"].map(str::to_owned);
        let rows: Vec<&[String; 5]> = std::iter::once(&heading).chain(&self.rows).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..5).map(|column| width(column).unwrap_or(0)).collect();
        println!();
        for (n, row) in rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            println!("| {} |", cells.collect::<Vec<_>>().join(" | "));
            if n == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                println!("| {} |", rules.join(" | "));
            }
        }
    }
}
