//! Reads comma-separated values (RFC 4180): the first line names the columns.

use super::import_item::{ImportItem, LineProblem};

/// The columns with several values in a cell, separated by `;`.
const LISTS: [&str; 4] = ["tags", "tag", "depends_on", "dependson"];

/// The columns with one value a line.
const LINES: [&str; 2] = ["checks", "check"];

pub(super) fn read(text: &str) -> Result<Vec<ImportItem>, Vec<LineProblem>> {
    let mut rows = parse(text.trim_start_matches('\u{feff}'))?.into_iter();
    let Some((_, names)) = rows.next() else {
        return Err(vec![LineProblem::of_file("it is empty; the first line names the columns")]);
    };
    let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
    if !names.iter().any(|name| name.eq_ignore_ascii_case("title")) {
        return Err(vec![LineProblem::new(1, "there is no column \"title\"")]);
    }
    let mut problems = Vec::new();
    let mut items = Vec::new();
    for (line, cells) in rows {
        if cells.len() > names.len() {
            let message = format!("has {} cells for {} columns", cells.len(), names.len());
            problems.push(LineProblem::new(line, message));
            continue;
        }
        let cells = names.iter().zip(cells).filter(|(_, cell)| !cell.trim().is_empty());
        let fields = cells.map(|(name, cell)| (name.clone(), split_cell(name, &cell))).collect();
        items.push(ImportItem { line, fields, ..ImportItem::default() });
    }
    if items.is_empty() && problems.is_empty() {
        problems.push(LineProblem::of_file("it has no line after the names of the columns"));
    }
    if problems.is_empty() { Ok(items) } else { Err(problems) }
}

fn split_cell(name: &str, cell: &str) -> Vec<String> {
    let name = name.to_lowercase().replace([' ', '-'], "_");
    let parts = |separator: char| -> Vec<String> {
        let parts = cell.split(separator).map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    if LISTS.contains(&&*name) {
        parts(';')
    } else if LINES.contains(&&*name) {
        parts('\n')
    } else if name == "body" {
        vec![cell.to_owned()]
    } else {
        vec![cell.trim().to_owned()]
    }
}

/// Splits a text into rows of cells, each with its first line. Skips empty lines.
fn parse(text: &str) -> Result<Vec<(u32, Vec<String>)>, Vec<LineProblem>> {
    let mut rows = Vec::new();
    let mut row = CsvRow::new(1);
    let mut line = 1;
    let mut quoted_since = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        line += u32::from(c == '\n');
        match (c, quoted_since) {
            ('"', Some(_)) if chars.peek() == Some(&'"') => {
                chars.next();
                row.cell.push('"');
            }
            ('"', Some(_)) => quoted_since = None,
            ('"', None) if row.cell.trim().is_empty() => {
                row.cell.clear();
                quoted_since = Some(line);
            }
            (',', None) => row.end_cell(),
            ('\r', None) if chars.peek() == Some(&'\n') => {}
            ('\n', None) => {
                rows.extend(row.end());
                row = CsvRow::new(line);
            }
            (c, _) => row.cell.push(c),
        }
    }
    if let Some(line) = quoted_since {
        return Err(vec![LineProblem::new(line, "a quotation mark is not closed")]);
    }
    rows.extend(row.end());
    Ok(rows)
}

struct CsvRow {
    line: u32,
    cells: Vec<String>,
    cell: String,
}

impl CsvRow {
    fn new(line: u32) -> Self {
        Self { line, cells: vec![], cell: String::new() }
    }

    fn end_cell(&mut self) {
        self.cells.push(std::mem::take(&mut self.cell));
    }

    fn end(mut self) -> Option<(u32, Vec<String>)> {
        self.end_cell();
        let is_empty = self.cells.iter().all(|cell| cell.trim().is_empty());
        (!is_empty).then_some((self.line, self.cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_become_fields_with_their_lines() {
        let text = "\u{feff}Title, key,tags,Depends-On,checks,body\r\n\
                    \"Fix, \"\"now\"\"\",a, x; y ,,\"make test\nmake lint\",\"Two\n lines.\"\r\n\r\n\
                    Second,,,a,,\n";
        let items = read(text).expect("it is good");
        let field = |name: &str, texts: &[&str]| {
            (name.to_owned(), texts.iter().map(|text| (*text).to_owned()).collect())
        };
        let first = vec![
            field("Title", &["Fix, \"now\""]),
            field("key", &["a"]),
            field("tags", &["x", "y"]),
            field("checks", &["make test", "make lint"]),
            field("body", &["Two\n lines."]),
        ];
        let second = vec![field("Title", &["Second"]), field("Depends-On", &["a"])];
        assert_eq!(
            items,
            [
                ImportItem { line: 2, fields: first, ..ImportItem::default() },
                ImportItem { line: 6, fields: second, ..ImportItem::default() },
            ]
        );
    }

    #[test]
    fn csv_problems_name_the_line() {
        let problems = |text| {
            let problems = read(text).expect_err("it is wrong");
            problems.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(problems(""), ["it is empty; the first line names the columns"]);
        assert_eq!(problems("name\nx\n"), ["line 1: there is no column \"title\""]);
        assert_eq!(problems("title\n"), ["it has no line after the names of the columns"]);
        assert_eq!(problems("title\nx\na,b\n"), ["line 3: has 2 cells for 1 columns"]);
        assert_eq!(problems("title\nx\n\"y\n"), ["line 3: a quotation mark is not closed"]);
    }
}
