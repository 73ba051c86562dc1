//! `JUnit` XML: test cases, with what went wrong inside them.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::Counted;

/// A case that has not ended yet.
#[derive(Default)]
struct Case {
    name: String,
    failed: bool,
    skipped: bool,
}

/// Counts the cases. A report that is cut off says nothing.
pub fn count(text: &str) -> Option<Counted> {
    let start = text.find("<?xml").or_else(|| text.find("<testsuite"))?;
    let mut reader = Reader::from_str(&text[start..]);
    let mut counted = Counted::default();
    let (mut case, mut depth, mut seen) = (None::<Case>, 0_usize, false);
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                depth += 1;
                seen |= open(&tag, &mut case);
            }
            Event::Empty(tag) => {
                seen |= open(&tag, &mut case);
                if tag.local_name().as_ref() == "testcase" {
                    close(case.take(), &mut counted);
                }
            }
            Event::End(tag) => {
                depth = depth.checked_sub(1)?;
                if tag.local_name().as_ref() == "testcase" {
                    close(case.take(), &mut counted);
                }
                // What follows the report, in a log, is no part of it.
                if depth == 0 && seen {
                    return Some(counted);
                }
            }
            Event::Eof => return (seen && depth == 0).then_some(counted),
            _ => {}
        }
    }
}

/// Takes note of what begins; says whether it is part of a report.
fn open(tag: &BytesStart<'_>, case: &mut Option<Case>) -> bool {
    match tag.local_name().as_ref() {
        "testcase" => *case = Some(Case { name: name(tag), ..Case::default() }),
        "failure" | "error" => case.iter_mut().for_each(|case| case.failed = true),
        "skipped" => case.iter_mut().for_each(|case| case.skipped = true),
        "testsuite" | "testsuites" => return true,
        _ => {}
    }
    false
}

fn name(tag: &BytesStart<'_>) -> String {
    let get = |key: &str| {
        let attribute = tag.try_get_attribute(key).ok().flatten()?;
        let text = attribute.value.into_owned();
        let plain = quick_xml::escape::unescape(&text).map(std::borrow::Cow::into_owned);
        Some(plain.unwrap_or(text))
    };
    match (get("classname"), get("name")) {
        (Some(class), Some(name)) if !class.is_empty() => format!("{class}.{name}"),
        (_, Some(name)) => name,
        (Some(class), None) => class,
        (None, None) => "a test without a name".to_owned(),
    }
}

fn close(case: Option<Case>, counted: &mut Counted) {
    match case {
        Some(case) if case.failed => counted.fail(&case.name),
        Some(case) if case.skipped => counted.tests.skip += 1,
        Some(_) => counted.tests.pass += 1,
        None => {}
    }
}
