//! Property tests: random front matter, random JSON and nearly valid YAML.

use adjutant_test_support::soak::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use super::super::{FrontMatterParts, edit, read, write};
use super::{remove, set};

/// Values after an unindented key, each followed by a line end. `@` is a line end.
const VALUES: [&str; 26] = [
    " x",
    "",
    " # c",
    " 12 # c",
    " 'it''s' # c",
    " \"a # b\"",
    " a b c",
    " 2026-02-09T21:10:00.000Z",
    " one@  two@@  three",
    " \"one@  two: 2\" # c",
    "@  below # c",
    " []",
    " [a, 'b: c'] # c",
    " [@  a, # c@  b@]",
    " {@a: 1,@b: 2@} # c",
    "@- a@- b",
    "@  - a # c@  # c@@  - b: 1@    c: 2",
    "@-@- - a",
    " # c@- a",
    " |@  k1: 2@@  # no@  ---",
    " >- # c@    a@@    b",
    " |2@   a",
    " |",
    " |+@  a@@",
    "@  a: 1@  # c@  b:@    c: 2",
    "@    a: |@      x@@    'b': # c@      - 1",
];

const GAPS: [&str; 5] = ["", "@", "# k1: 2@", "@# a@@# b@", "  @"];

/// Returns a key as written; all styles read as `k` and the number.
fn key(number: usize, style: usize) -> String {
    match style {
        0 => format!("'k{number}'"),
        1 => format!("\"k{number}\""),
        2 => format!("k{number} "),
        _ => format!("k{number}"),
    }
}

/// Generates the entries of a block mapping at an indentation, each with the gap after it.
fn entries(indent: &'static str) -> impl Strategy<Value = Vec<(String, String)>> {
    let entry = (0..6usize, select(&VALUES[..]), select(&GAPS[..]));
    vec(entry, 1..6).prop_map(move |entries| {
        let lines = |text: String| text.replace('@', &format!("\n{indent}"));
        let entry = |(number, (style, value, gap)): (usize, (usize, &str, &str))| {
            // Blank lines after `|+` would be part of the value without a comment before them.
            let gap = if value.starts_with(" |+") { "# c@" } else { gap };
            (
                lines(format!("{indent}{}:{value}", key(number, style))) + "\n",
                gap.replace('@', "\n"),
            )
        };
        entries.into_iter().enumerate().map(entry).collect()
    })
}

/// Returns the text of entries and gaps.
fn concat(entries: &[(String, String)]) -> String {
    entries.iter().flat_map(|(entry, gap)| [entry.as_str(), gap]).collect()
}

/// Generates JSON values with awkward strings.
fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        string().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::Array),
            vec((string(), inner), 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Generates arbitrary strings, and strings that are special in YAML.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-a-cyYnN0-9eExX_.:#,T+~ '\"\\[\\]{}&*!|>%@?=<\\\\\n\r\t\u{85}]{0,12}"
    ]
}

/// Generates text that is nearly YAML.
fn rubbish() -> impl Strategy<Value = String> {
    const BITS: [&str; 44] = [
        "a",
        "b",
        "c",
        ":",
        ": ",
        "\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "  ",
        "\t",
        "- ",
        "-",
        "? ",
        "#",
        " # ",
        "'",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        "&a ",
        "*a",
        "!t ",
        "!!str ",
        "|",
        ">",
        "|+",
        "<<: ",
        "---",
        "...",
        "%",
        "é",
        "\u{feff}",
        "\u{2028}",
        "1",
        "a: 1\n",
        "b:\n  c: 2\n",
        "\\",
        "~",
        "a:\n- b\n",
    ];
    vec(select(&BITS[..]), 0..24).prop_map(|bits| bits.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1000)))]

    #[test]
    fn edit_changes_only_named_lines(
        entries in entries(""), nth in any::<prop::sample::Index>(), value in json(), crlf in any::<bool>(),
    ) {
        let eol = if crlf { "\r\n" } else { "\n" };
        let lines = |text: String| text.replace('\n', eol);
        let nth = nth.index(entries.len());
        let text = |entries| lines(concat(entries));
        let (before, after) = (text(&entries[..nth]), text(&entries[nth + 1..]));
        let (yaml, after) = (text(&entries), lines(entries[nth].1.clone()) + &after);
        let name = format!("k{nth}");

        let removed = edit(&yaml, &[remove(&[&name])], eol);
        prop_assert_eq!(removed, Ok(format!("{before}{after}")));
        let changed = edit(&yaml, &[set(&[&name], value.clone())], eol).expect("it was readable");
        prop_assert!(changed.starts_with(&before) && changed.ends_with(&after), "{}", changed);
        let added = edit(&yaml, &[set(&["new"], value)], eol).expect("it was readable");
        prop_assert!(added.starts_with(&yaml), "{}", added);
    }

    #[test]
    fn nested_edit_changes_only_named_lines(
        children in entries("   "), nth in any::<prop::sample::Index>(), value in json(),
    ) {
        let nth = nth.index(children.len());
        let before = format!("a: 1 # c\nm: # c\n{}", concat(&children[..nth]));
        let rest = format!("{}# z\nz: 'x'\n", concat(&children[nth + 1..]));
        let (child, gap) = &children[nth];
        let after = format!("{gap}{rest}");
        let yaml = format!("{before}{child}{after}");
        let name = format!("k{nth}");

        let removed = edit(&yaml, &[remove(&["m", &name])], "\n").expect("it was readable");
        if children.len() > 1 {
            prop_assert_eq!(removed, format!("{before}{after}"));
        } else {
            prop_assert_eq!(removed, format!("a: 1 # c\nm: {{}} # c\n{after}"));
        }
        let changed = edit(&yaml, &[set(&["m", &name], value.clone())], "\n").expect("it was readable");
        prop_assert!(changed.starts_with(&before) && changed.ends_with(&after), "{}", changed);
        let added = edit(&yaml, &[set(&["m", "new"], value)], "\n").expect("it was readable");
        let upto_last = concat(&children[..children.len() - 1]) + &children[children.len() - 1].0;
        prop_assert!(added.contains(&format!("m: # c\n{upto_last}   new:")), "{}", added);
    }

    #[test]
    fn written_yaml_reads_the_same(entries in vec((string(), json()), 0..5), crlf in any::<bool>()) {
        let map: Map<String, Value> = entries.into_iter().collect();
        let eol = if crlf { "\r\n" } else { "\n" };
        prop_assert_eq!(read(&write(&map, eol)), Ok(map));
    }

    #[test]
    fn edit_of_any_text_reads_as_intended_and_is_idempotent(
        yaml in prop_oneof![rubbish(), any::<String>()], value in json(), key in select(&["a", "b", "new"][..]),
    ) {
        let _ = FrontMatterParts::split(&yaml).map(|parts| parts.join("", ""));
        for path in [&[key][..], &[key, "c"]] {
            let set = [set(path, value.clone())];
            let Ok(once) = edit(&yaml, &set, "\n") else { continue };
            let fields = read(&once).expect("what is edited can be read");
            let found = path.iter().try_fold(&Value::Object(fields), |value, key| value.get(key)).cloned();
            prop_assert_eq!(found, Some(value.clone()));
            prop_assert_eq!(edit(&once, &set, "\n"), Ok(once.clone()));
            let removed = edit(&once, &[remove(path)], "\n").expect("it was readable");
            prop_assert_eq!(edit(&removed, &[remove(path)], "\n"), Ok(removed.clone()));
        }
    }

    #[test]
    fn split_then_join_returns_the_text(
        bom in select(&["", "\u{feff}"][..]),
        lines in vec(select(&["---", "--- ", "a: 1", " ---", "", "é"][..]), 0..8),
        eol in select(&["\n", "\r\n"][..]),
        tail in select(&["", "---", "x"][..]),
    ) {
        let text = format!("{bom}---{eol}{}{eol}{tail}", lines.join(eol));
        if let Ok(parts) = FrontMatterParts::split(&text) {
            prop_assert_eq!(parts.join(parts.yaml(), parts.body()), text);
        }
    }
}
