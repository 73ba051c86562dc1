//! Parses `JUnit` XML.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::ParsedTestCounts;

/// A test case whose end tag has not been read.
#[derive(Default)]
struct JunitCase {
    name: String,
    failed: bool,
    skipped: bool,
}

/// Counts the test cases; `None` if the report is truncated.
pub fn count(text: &str) -> Option<ParsedTestCounts> {
    let start = text.find("<?xml").or_else(|| text.find("<testsuite"))?;
    let mut reader = Reader::from_str(&text[start..]);
    let mut counted = ParsedTestCounts::default();
    let (mut case, mut depth, mut seen) = (None::<JunitCase>, 0_usize, false);
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
                // Text after the report, as in a log, is not part of it.
                if depth == 0 && seen {
                    return Some(counted);
                }
            }
            Event::Eof => return (seen && depth == 0).then_some(counted),
            _ => {}
        }
    }
}

/// Handles an opening tag; returns whether the tag shows that this is a report.
fn open(tag: &BytesStart<'_>, case: &mut Option<JunitCase>) -> bool {
    match tag.local_name().as_ref() {
        "testcase" => *case = Some(JunitCase { name: name(tag), ..JunitCase::default() }),
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

fn close(case: Option<JunitCase>, counted: &mut ParsedTestCounts) {
    match case {
        Some(case) if case.failed => counted.add_failure(&case.name),
        Some(case) if case.skipped => counted.tests.skip += 1,
        Some(_) => counted.tests.pass += 1,
        None => {}
    }
}
