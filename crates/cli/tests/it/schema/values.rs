//! Single values: the schemas' patterns accept exactly what the parsers accept.

use adjutant_model::relative_path::RelPath;
use adjutant_model::{AgentId, TaskId, Time};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::schema::support::schema;

/// Returns a validator for one definition of a schema.
fn definition(kind: &str, name: &str) -> Validator {
    let definition = schema(kind)["$defs"][name].clone();
    assert!(definition.is_object(), "{name}");
    jsonschema::draft202012::new(&definition).expect("a schema that can be used")
}

/// Returns a validator for one field of a schema.
fn field(kind: &str, name: &str) -> Validator {
    let schema = schema(kind);
    let mut field = schema["properties"][name].clone();
    field["$defs"] = schema["$defs"].clone();
    jsonschema::draft202012::new(&field).expect("a schema that can be used")
}

fn check(
    validator: &Validator,
    parses: impl Fn(&str) -> bool,
    texts: impl IntoIterator<Item = String>,
) {
    let (mut good, mut bad) = (0, 0);
    for text in texts {
        let says = (parses(&text), validator.is_valid(&Value::from(text.as_str())));
        assert_eq!(says.0, says.1, "{text:?}");
        if says.0 { good += 1 } else { bad += 1 }
    }
    assert!(good > 0 && bad > 0, "{good} good ones and {bad} bad ones");
}

/// Returns texts with each character at the start, in the middle, at the end, and alone.
fn with_each(text: &str, characters: impl Iterator<Item = char>) -> Vec<String> {
    characters
        .flat_map(|c| {
            [format!("{c}{text}"), format!("{text}{c}{text}"), format!("{text}{c}"), c.to_string()]
        })
        .collect()
}

/// Control characters, unusual spaces and other special characters, and some ordinary ones.
fn characters() -> impl Iterator<Item = char> {
    let special = [
        '\u{1680}', '\u{180e}', '\u{2028}', '\u{2029}', '\u{202f}', '\u{205f}', '\u{3000}',
        '\u{feff}', '漢', '🦀',
    ];
    ('\0'..='\u{180}').chain('\u{1ff0}'..='\u{2070}').chain(special)
}

#[test]
fn time_pattern_accepts_what_the_parser_accepts() {
    let days = (0..=13).flat_map(|month| {
        [0, 1, 9, 10, 28, 29, 30, 31, 32].map(|day| format!("{month:02}-{day:02}"))
    });
    let days: Vec<String> = days.collect();
    let years = ["0000", "0004", "1900", "2000", "2023", "2024", "2100", "9999", "10000", "999"];
    let dates =
        years.iter().flat_map(|year| days.iter().map(move |day| format!("{year}-{day}T00:00:00Z")));
    let clocks = [
        "00:00:00", "23:59:59", "24:00:00", "23:60:00", "23:59:60", "23:59:61", "1:00:00", "01:00",
    ];
    let fractions = ["", ".", ".0", ".123456789", ".1234567890", ",5", ".x"];
    let zones = [
        "Z", "z", "", "+00:00", "-00:00", "+23:59", "-23:59", "+24:00", "+12:60", "+0200", "+02",
        "Z ", "Z[UTC]", "\n", "Z\n",
    ];
    let mut times = Vec::new();
    for (clock, fraction) in clocks.iter().flat_map(|c| fractions.map(|f| (c, f))) {
        for (zone, sign) in zones.iter().flat_map(|zone| ["T", "t", " ", ""].map(|s| (zone, s))) {
            times.push(format!("2026-02-09{sign}{clock}{fraction}{zone}"));
        }
    }
    let all = dates.chain(times);
    check(&definition("envelope", "Timestamp"), |text| Time::parse(text).is_ok(), all);
}

#[test]
fn task_id_pattern_accepts_what_the_parser_accepts() {
    let suffixes = (0..70).map(|n| "7".repeat(n)).chain((0..20).map(|n| "a".repeat(n)));
    let counted = suffixes.map(|suffix| format!("TASK-2026-02-09-{suffix}"));
    let odd = with_each("TASK-2026-02-09-057", characters());
    let eight = characters().map(|c| format!("TASK-2026-02-09-abc{c}defg"));
    let more = [
        "",
        "TASK",
        "task-2026-02-09-057",
        "TASK-26-02-09-057",
        "TASK-2026-02-09",
        "TASK-2026-13-99-057",
    ];
    let all = counted.chain(odd).chain(eight).chain(more.map(str::to_owned));
    check(&definition("envelope", "TaskId"), |text| TaskId::parse(text).is_ok(), all);
}

#[test]
fn agent_name_pattern_accepts_what_the_parser_accepts() {
    let lengths = [0, 1, 255, 256, 257].map(|n| "é".repeat(n));
    let reserved = [
        "scheduler",
        "router",
        "system",
        "human:",
        "human:x",
        "human",
        "systems",
        "Human:x",
        "a human:x",
    ];
    let all = || {
        let odd = with_each("swe", characters());
        let blank = with_each(" ", characters());
        odd.into_iter().chain(blank).chain(lengths.clone()).chain(reserved.map(str::to_owned))
    };
    let name = |text: &str| AgentId::parse(text).is_ok();
    check(&definition("envelope", "AgentId"), name, all());
    let sender = |text: &str| AgentId::parse(text).is_ok_and(|name| !name.is_reserved());
    check(&field("envelope", "fromAgent"), sender, all());
}

#[test]
fn path_pattern_accepts_what_the_parser_accepts() {
    let lengths = [0, 1, 255, 256, 257].map(|n| "é".repeat(n));
    let parts =
        ["a", ".", "..", "...", "..a", "a..", "", "~", "~a", "C:", "c:a", "1:", "a:b", "é:"];
    let pairs = parts.iter().flat_map(|one| {
        parts.iter().flat_map(move |two| {
            ["/", "\\", "", "//"].map(|between| format!("{one}{between}{two}"))
        })
    });
    let odd = with_each("a", characters());
    let all = pairs.chain(odd).chain(lengths);
    check(&definition("envelope", "RelPath"), |text| RelPath::parse(text).is_ok(), all);
}

#[test]
fn answer_schema_requires_every_field() {
    let valid = crate::schema::support::validator("answer");
    let answer = json!({
        "result": "applied", "reason": null, "taskId": "TASK-2026-02-09-057", "events": [1, 2],
        "status": "review", "errors": [],
    });
    assert!(valid.is_valid(&answer));
    for field in ["result", "reason", "taskId", "events", "status", "errors"] {
        let mut less = answer.clone();
        less.as_object_mut().expect("an object").shift_remove(field);
        assert!(!valid.is_valid(&less), "{field}");
        let mut wrong = answer.clone();
        wrong[field] = json!("nonsense");
        assert!(!valid.is_valid(&wrong), "{field}");
    }
}
