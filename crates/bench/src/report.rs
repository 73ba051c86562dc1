//! The table of measurements.

use tempfile::TempDir;

#[derive(Default)]
pub(crate) struct BenchReport {
    rows: Vec<[String; 5]>,
    kept_folders: Vec<TempDir>,
}

impl BenchReport {
    /// Keeps a folder until all measurements are done. A file system avoids space that was freed in
    /// the last minutes, so making files right after many were removed is slow.
    pub(crate) fn keep_folder(&mut self, folder: TempDir) {
        self.kept_folders.push(folder);
    }

    pub(crate) fn add_row(
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
