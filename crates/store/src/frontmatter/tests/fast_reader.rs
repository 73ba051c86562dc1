//! Tests that the fast reader agrees with the full parser, and leaves everything else to it.

use adjutant_test_support::soak::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::super::fast_reader;
use super::super::layout::entries_with_parser;
use super::super::read::read_with_parser;

/// Pieces that the fast reader accepts or almost accepts, and misleading ones.
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
    fn fast_reader_agrees_with_parser_on_random_pieces(pieces in vec(select(&PIECES[..]), 0..14)) {
        let yaml = pieces.concat() + "\n";
        if let Some(map) = fast_reader::read(&yaml) {
            prop_assert_eq!(read_with_parser(&yaml), Ok(map.clone()), "{:?}", yaml);
            prop_assert_eq!(entries_with_parser(&yaml), fast_reader::entries(&yaml), "{:?}", yaml);
            prop_assert!(fast_reader::matches_fields(&yaml, &map), "{:?}", yaml);
        }
    }

    #[test]
    fn fast_reader_agrees_with_parser_on_plausible_lines(
        lines in vec((0..4_usize, "[a-z]{1,3}", select(&PIECES[..])), 1..8),
    ) {
        let line = |(indent, key, value): &(usize, String, &str)| match indent {
            3 => format!("  - {value}\n"),
            indent => format!("{}{key}: {value}\n", "  ".repeat(*indent)),
        };
        let yaml: String = lines.iter().map(line).collect();
        if let Some(map) = fast_reader::read(&yaml) {
            prop_assert_eq!(read_with_parser(&yaml), Ok(map.clone()), "{:?}", yaml);
            prop_assert_eq!(entries_with_parser(&yaml), fast_reader::entries(&yaml), "{:?}", yaml);
            prop_assert!(fast_reader::matches_fields(&yaml, &map), "{:?}", yaml);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fast_comparison_agrees_with_fast_reader(
        lines in vec((0..4_usize, "[ab]", select(&["x", "1", "true", "[]", "{}"][..])), 1..8),
        others in vec((0..4_usize, "[ab]", select(&["x", "1", "true", "[]", "{}"][..])), 1..8),
    ) {
        let line = |(indent, key, value): &(usize, String, &str)| match indent {
            2 => format!("{key}:\n"),
            3 => format!("  - {value}\n"),
            indent => format!("{}{key}: {value}\n", "  ".repeat(*indent)),
        };
        let [yaml, other] = [lines, others].map(|lines| lines.iter().map(line).collect::<String>());
        if let Some(map) = fast_reader::read(&yaml) {
            let same = fast_reader::read(&other).as_ref() == Some(&map);
            prop_assert_eq!(fast_reader::matches_fields(&other, &map), same, "{:?} {:?}", yaml, other);
        }
    }
}

#[test]
fn fast_comparison_sees_missing_extra_and_reordered_values() {
    let is = |yaml: &str, other: &str| {
        fast_reader::matches_fields(yaml, &fast_reader::read(other).expect("it is read quickly"))
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
fn fast_reader_accepts_a_typical_task_file() {
    let yaml = "schemaVersion: 1\nid: TASK-2026-02-09-057\ntitle: \"Mend: the gate\"\n\
        createdAt: 2026-02-09T21:10:00.000Z\ncreatedBy: human:alice\nrouting:\n  agent: swe\n  \
        tags:\n    - rust\n    - api\ndependsOn: []\nmetadata:\n  reviewRequired: false\n";
    let expected = json!({
        "schemaVersion": 1, "id": "TASK-2026-02-09-057", "title": "Mend: the gate",
        "createdAt": "2026-02-09T21:10:00.000Z", "createdBy": "human:alice",
        "routing": {"agent": "swe", "tags": ["rust", "api"]}, "dependsOn": [],
        "metadata": {"reviewRequired": false},
    });
    assert_eq!(fast_reader::read(yaml).map(serde_json::Value::Object), Some(expected));
}

#[test]
fn fast_reader_leaves_other_yaml_to_the_parser() {
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
        assert_eq!(fast_reader::read(other), None, "{other:?}");
    }
}
