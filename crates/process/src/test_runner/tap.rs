//! Parses the Test Anything Protocol, including subtests.

use super::ParsedTestCounts;

/// Counts tests without subtests, and planned tests that are missing.
pub fn count(text: &str) -> Option<ParsedTestCounts> {
    let mut counted = ParsedTestCounts::default();
    // The number of test points at each depth since the last one further out.
    let mut points: Vec<(usize, u64)> = Vec::new();
    let (mut seen, mut block) = (false, None::<usize>);
    for line in text.lines() {
        let rest = line.trim_start_matches(' ');
        let depth = line.len() - rest.len();
        if block.is_some() {
            if rest.trim_end() == "..." && block == Some(depth) {
                block = None;
            }
            continue;
        }
        if rest.trim_end() == "---" && depth > 0 && seen {
            block = Some(depth);
        } else if let Some(why) = rest.strip_prefix("Bail out!") {
            seen = true;
            counted.add_failure(&format!("Bail out!{why}"));
        } else if let Some(planned) = plan(rest) {
            seen = true;
            let seen = points.iter().find(|(at, _)| *at == depth).map_or(0, |(_, count)| *count);
            if depth == 0 && seen > 0 && seen < planned {
                counted.add_failure(&format!("{} of {planned} planned tests", planned - seen));
            }
        } else if let Some(point) = TapPoint::read(rest) {
            seen = true;
            let inner = points.last().is_some_and(|(at, _)| *at > depth);
            points.retain(|(at, _)| *at <= depth);
            match points.last_mut() {
                Some((at, count)) if *at == depth => *count += 1,
                _ => points.push((depth, 1)),
            }
            if !inner {
                point.add_to(&mut counted);
            }
        }
    }
    seen.then_some(counted)
}

fn plan(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("1..")?;
    rest.split(' ').next()?.trim_end().parse().ok()
}

struct TapPoint<'a> {
    ok: bool,
    name: &'a str,
    /// Whether the test has a `SKIP` or `TODO` directive.
    excused: bool,
}

impl<'a> TapPoint<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (ok, rest) = match line.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, line.strip_prefix("ok")?),
        };
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return None;
        }
        let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.trim_start().trim_start_matches('-').trim();
        let (name, directive) = directive(rest);
        let directive = directive.trim_start().to_ascii_uppercase();
        let excused = directive.starts_with("SKIP") || directive.starts_with("TODO");
        Some(Self { ok, name, excused })
    }

    fn add_to(&self, counted: &mut ParsedTestCounts) {
        match (self.excused, self.ok) {
            (true, _) => counted.tests.skip += 1,
            (false, true) => counted.tests.pass += 1,
            (false, false) => counted.add_failure(self.name),
        }
    }
}

/// Splits a description from the directive after the first `#` that is not escaped.
fn directive(text: &str) -> (&str, &str) {
    let marks = text.match_indices('#').map(|(at, _)| at);
    let mark = marks.into_iter().find(|at| !text[..*at].ends_with('\\'));
    mark.map_or((text, ""), |at| (text[..at].trim_end(), &text[at + 1..]))
}
