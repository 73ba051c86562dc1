//! Fuzz target: the work log, a line with an agent's values in a body that a person wrote.

use adjutant_model::Timestamp;
use adjutant_model::work_log::WorkLogEntry;

/// Separates the values of an entry from each other and from the body.
const RULE: &str = "%%%\n";

const HEADING: &str = "## Work Log";

/// An entry is one line, and nothing else in the body changes.
///
/// The bytes are progress, notes and blockers, then the body, with lines of `%%%` between them.
pub fn work_log(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut parts = text.splitn(4, RULE);
    let (first, second, third) = (parts.next(), parts.next(), parts.next());
    let (body, entry) = match parts.next() {
        Some(body) => (body, entry(first, second, third)),
        None => (text, entry(Some("Half way"), None, None)),
    };
    check(body, &entry);
}

fn entry(progress: Option<&str>, notes: Option<&str>, blockers: Option<&str>) -> WorkLogEntry {
    let said = |text: &&str| !text.trim().is_empty();
    let blockers = blockers.filter(said).map(|text| text.split(',').map(str::to_owned).collect());
    WorkLogEntry {
        at: Timestamp::parse("2026-02-09T21:05:00Z").expect("a good time"),
        progress: progress.filter(said).map(str::to_owned),
        notes: notes.filter(said).map(str::to_owned),
        blockers: blockers.unwrap_or_default(),
    }
}

fn check(body: &str, entry: &WorkLogEntry) {
    let line = entry.line();
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    assert!(!line.contains(breaks), "an entry is one line: {line:?}");

    let once = entry.append_to(body);
    let allowed = [HEADING, "", line.as_str()];
    check_insertion(body, &once, &allowed);
    assert_eq!(count(&once, &line), count(body, &line) + 1, "{once:?}");

    let twice = entry.append_to(&once);
    check_insertion(&once, &twice, &["", line.as_str()]);
    assert_eq!(count(&twice, HEADING), count(&once, HEADING), "one section is enough: {twice:?}");
}

/// Checks that only these lines were inserted, in one place, and that nothing was removed.
fn check_insertion(before: &str, after: &str, allowed: &[&str]) {
    let same = |(a, b): &(u8, u8)| a == b;
    let ahead = before.bytes().zip(after.bytes()).take_while(same).count();
    let behind = before.bytes().rev().zip(after.bytes().rev()).take_while(same).count();
    assert!(ahead + behind >= before.len(), "the body stays as it is: {before:?} {after:?}");
    let new = |line: &str| count(after, line).saturating_sub(count(before, line)) > 0;
    for line in after.split('\n').map(content).filter(|line| new(line)) {
        assert!(allowed.contains(&line), "{line:?} was put into {before:?}");
    }
}

fn count(text: &str, wanted: &str) -> usize {
    text.split('\n').filter(|line| content(line) == wanted).count()
}

fn content(line: &str) -> &str {
    line.trim_end_matches('\r')
}
