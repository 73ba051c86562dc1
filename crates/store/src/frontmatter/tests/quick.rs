//! The quick reader reads nothing otherwise than the parser does, and gives up on the rest.

use adjutant_test_support::soak::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::super::layout::entries_of_any;
use super::super::read::read_any;
use super::super::simple;

/// Pieces that come close to what the quick reader takes, and pieces that lead astray.
const PIECES: [&str; 60] = [
    "id",
    "title",
    "a",
    "status",
    "true",
    "yes",
    "Null",
    "~",
    "1",
    "007",
    "12e4",
    "0x1F",
    "1_000",
    "2026-02-09",
    "2026-02-09T21:10:00.000Z",
    "2026-02-09T21:10:00Z",
    "12:30:45",
    "TASK-2026-02-09-057",
    "human:alice",
    "a:b",
    "a::b",
    "a b",
    "[]",
    "{}",
    "[a]",
    "{a: 1}",
    "\"q\"",
    "\"\"",
    "\"a: b\"",
    "\"a\\n\"",
    "\"ü\"",
    "ü",
    "'s'",
    "#c",
    " #c",
    "- ",
    "-",
    ":",
    ": ",
    ":\n",
    "\n",
    "\n  ",
    "\n    ",
    "\n  - ",
    "\n- ",
    "  ",
    " ",
    "\t",
    "\r\n",
    "|\n",
    ">-\n",
    "&x",
    "*x",
    "!t",
    "? ",
    "<<",
    "---",
    "...",
    ".5",
    "%",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(4_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_quickly_is_what_the_parser_reads(pieces in vec(select(&PIECES[..]), 0..14)) {
        let yaml = pieces.concat() + "\n";
        if let Some(map) = simple::read(&yaml) {
            prop_assert_eq!(read_any(&yaml), Ok(map.clone()), "{:?}", yaml);
            prop_assert_eq!(entries_of_any(&yaml), simple::entries(&yaml), "{:?}", yaml);
            prop_assert!(simple::is(&yaml, &map), "{:?}", yaml);
        }
    }

    #[test]
    fn lines_that_look_right_are_read_as_the_parser_reads_them(
        lines in vec((0..4_usize, "[a-z]{1,3}", select(&PIECES[..])), 1..8),
    ) {
        let line = |(indent, key, value): &(usize, String, &str)| match indent {
            3 => format!("  - {value}\n"),
            indent => format!("{}{key}: {value}\n", "  ".repeat(*indent)),
        };
        let yaml: String = lines.iter().map(line).collect();
        if let Some(map) = simple::read(&yaml) {
            prop_assert_eq!(read_any(&yaml), Ok(map.clone()), "{:?}", yaml);
            prop_assert_eq!(entries_of_any(&yaml), simple::entries(&yaml), "{:?}", yaml);
            prop_assert!(simple::is(&yaml, &map), "{:?}", yaml);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_known_again_quickly_is_what_is_read(
        lines in vec((0..4_usize, "[ab]", select(&["x", "1", "true", "[]", "{}"][..])), 1..8),
        others in vec((0..4_usize, "[ab]", select(&["x", "1", "true", "[]", "{}"][..])), 1..8),
    ) {
        let line = |(indent, key, value): &(usize, String, &str)| match indent {
            2 => format!("{key}:\n"),
            3 => format!("  - {value}\n"),
            indent => format!("{}{key}: {value}\n", "  ".repeat(*indent)),
        };
        let [yaml, other] = [lines, others].map(|lines| lines.iter().map(line).collect::<String>());
        if let Some(map) = simple::read(&yaml) {
            let same = simple::read(&other).as_ref() == Some(&map);
            prop_assert_eq!(simple::is(&other, &map), same, "{:?} {:?}", yaml, other);
        }
    }
}

#[test]
fn a_text_is_not_known_again_by_less_or_more_or_in_another_order_of_a_list() {
    let is = |yaml: &str, other: &str| {
        simple::is(yaml, &simple::read(other).expect("it is read quickly"))
    };
    assert!(is("a: 1\nb: x\n", "b: x\na: 1\n"));
    assert!(is("a:\n  - x\n  - z\n", "a:\n  - x\n  - z\n"));
    for (yaml, other) in [
        ("a: 1\n", "a: 1\nb: x\n"),
        ("a: 1\nb: x\n", "a: 1\n"),
        ("a: 1\na: 1\n", "a: 1\nb: x\n"),
        ("a: 1\n", "a: \"1\"\n"),
        ("a:\n  - x\n  - z\n", "a:\n  - z\n  - x\n"),
        ("a:\n  - x\n", "a:\n  - x\n  - z\n"),
        ("a:\n  - x\n  - z\n", "a:\n  - x\n"),
        ("a:\n  b: x\n", "a:\n  b: z\n"),
        ("a: []\n", "a: {}\n"),
    ] {
        assert!(!is(yaml, other), "{yaml:?} {other:?}");
    }
}

#[test]
fn a_file_as_it_is_usually_written_is_read_quickly() {
    let yaml = "schemaVersion: 1\nid: TASK-2026-02-09-057\ntitle: \"Mend: the gate\"\n\
        createdAt: 2026-02-09T21:10:00.000Z\ncreatedBy: human:alice\nrouting:\n  agent: swe\n  \
        tags:\n    - rust\n    - api\ndependsOn: []\nmetadata:\n  reviewRequired: false\n";
    let expected = json!({
        "schemaVersion": 1, "id": "TASK-2026-02-09-057", "title": "Mend: the gate",
        "createdAt": "2026-02-09T21:10:00.000Z", "createdBy": "human:alice",
        "routing": {"agent": "swe", "tags": ["rust", "api"]}, "dependsOn": [],
        "metadata": {"reviewRequired": false},
    });
    assert_eq!(simple::read(yaml).map(serde_json::Value::Object), Some(expected));
}

#[test]
fn what_it_does_not_know_is_left_to_the_parser() {
    for other in [
        "a: 1.5\n",
        "a: 'x'\n",
        "# c\na: b\n",
        "a: b # c\n",
        "a: yes\n",
        "a:\n",
        "a: b\n  c\n",
        "a: b\r\n",
        "a: |\n  b\n",
        "a: b: c\n",
        "a: b\na: c\n",
        "a:\n- b\n",
        "a: ü\n",
        "a: b",
    ] {
        assert_eq!(simple::read(other), None, "{other:?}");
    }
}
