//! The Test Anything Protocol, with tests inside tests.

use super::Counted;

/// Counts tests that have no tests inside them, and what was planned and did not come.
pub fn count(text: &str) -> Option<Counted> {
    let mut counted = Counted::default();
    // How many points there were at each depth since the last one further out.
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
            counted.fail(&format!("Bail out!{why}"));
        } else if let Some(planned) = plan(rest) {
            seen = true;
            let came = points.iter().find(|(at, _)| *at == depth).map_or(0, |(_, count)| *count);
            if depth == 0 && came > 0 && came < planned {
                counted.fail(&format!("{} of {planned} planned tests", planned - came));
            }
        } else if let Some(point) = Point::read(rest) {
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

struct Point<'a> {
    ok: bool,
    name: &'a str,
    /// Whether it does not count against anybody: it was left out, or is known not to work.
    excused: bool,
}

impl<'a> Point<'a> {
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

    fn add_to(&self, counted: &mut Counted) {
        match (self.excused, self.ok) {
            (true, _) => counted.tests.skip += 1,
            (false, true) => counted.tests.pass += 1,
            (false, false) => counted.fail(self.name),
        }
    }
}

/// Parts a description from what follows the first `#` that is not escaped.
fn directive(text: &str) -> (&str, &str) {
    let marks = text.match_indices('#').map(|(at, _)| at);
    let mark = marks.into_iter().find(|at| !text[..*at].ends_with('\\'));
    mark.map_or((text, ""), |at| (text[..at].trim_end(), &text[at + 1..]))
}
