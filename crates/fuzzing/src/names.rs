//! Fuzz target: ids, paths, times and names, each compared with a simple reference implementation.

use std::path::{Component, Path};

use adjutant_model::relative_path::{PATH_CHARS_MAX, RelPath};
use adjutant_model::{Actor, AgentId, TaskId, Time, Timestamp};

/// The first moment of the year 0: earlier times cannot be written.
const EARLIEST_MILLIS: i64 = -62_167_219_200_000;

/// The usual way to write "never"; later times are read as this one.
const LATEST: &str = "9999-12-31T23:59:59Z";

/// The parsers agree with the reference implementation on every short text.
pub fn names(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    check_task_id(text);
    check_path(text);
    check_time(text);
    check_agent(text);
}

fn check_task_id(text: &str) {
    let parsed = TaskId::parse(text);
    assert_eq!(parsed.is_ok(), is_task_id(text), "{text:?}");
    let Ok(id) = parsed else { return };
    assert_eq!(id.as_str(), text);
    assert!(text.contains(id.day()));
    let name = format!("{id}.md");
    let parts: Vec<Component<'_>> = Path::new(&name).components().collect();
    assert!(matches!(parts[..], [Component::Normal(_)]), "an id is a file name: {text:?}");
}

fn is_task_id(text: &str) -> bool {
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let counted = |text: &str, length: usize| text.len() == length && digits(text);
    let suffix = |text: &str| {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (text.len() >= 3 && digits(text)) || (text.len() == 8 && text.chars().all(word))
    };
    match text.splitn(5, '-').collect::<Vec<_>>()[..] {
        ["TASK", year, month, day, rest] => {
            let day = counted(year, 4) && counted(month, 2) && counted(day, 2);
            day && suffix(rest) && text.len() <= 64
        }
        _ => false,
    }
}

/// An accepted path stays inside its folder, here and on a system with backslashes.
fn check_path(text: &str) {
    match RelPath::parse(text) {
        Ok(path) => {
            assert_eq!(path.as_str(), text);
            assert!(stays_inside(text) && stays_inside(&text.replace('\\', "/")), "{text:?}");
            assert!(text.chars().count() <= PATH_CHARS_MAX && !text.contains('\0'));
        }
        Err(why) => {
            let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | ' ');
            let plain = text.len() <= PATH_CHARS_MAX && text.chars().all(harmless);
            let plain = plain && !text.is_empty() && !text.starts_with('/');
            assert!(!plain, "{text:?} was refused: {why}");
        }
    }
}

fn stays_inside(text: &str) -> bool {
    Path::new(text)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// A time is the instant its text states, and prints as a text that parses to itself.
fn check_time(text: &str) {
    let parsed = Time::parse(text);
    match (&parsed, reference_millis(text).filter(|millis| *millis >= EARLIEST_MILLIS)) {
        (Ok(time), Some(expected)) => {
            let latest = Time::parse(LATEST).expect("a good time");
            assert_eq!(time.as_millis(), expected.min(latest.as_millis()), "{text:?}");
            assert_eq!(Time::parse(&time.to_string()).as_ref(), Ok(time), "{text:?} as {time}");
            assert!(time.to_string().starts_with(&time.day()), "{text:?} as {time}");
        }
        (Err(_), None) => {}
        (_, expected) => panic!("{text:?} is {parsed:?}, not {expected:?}"),
    }
    assert_eq!(
        Timestamp::parse(text).map(|stamp| stamp.to_string()),
        parsed.map(|_| text.to_owned())
    );
}

/// Computes the milliseconds since 1970 of an RFC 3339 time without a library.
fn reference_millis(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let mark = |at: usize, marks: &str| text.get(at..=at).filter(|mark| marks.contains(mark));
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    for (at, marks) in [(4, "-"), (7, "-"), (10, "Tt"), (13, ":"), (16, ":")] {
        mark(at, marks)?;
    }
    let (fraction, zone) = fraction(text.get(19..)?)?;
    let (offset_secs, valid) = (offset_secs(zone)?, hour < 24 && minute < 60 && second <= 60);
    let days = days_since_1970(year, month, day)?;
    let secs = days * 86_400 + hour * 3_600 + minute * 60 + second.min(59) - offset_secs;
    valid.then_some(secs * 1_000 + fraction)
}

/// Splits `.123Z` into milliseconds and the rest.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let padded = format!("{:0<3}", &rest[..digits]);
    (1..=9).contains(&digits).then_some((padded[..3].parse().ok()?, &rest[digits..]))
}

fn offset_secs(zone: &str) -> Option<i64> {
    if zone == "Z" || zone == "z" {
        return Some(0);
    }
    let sign = if zone.strip_prefix('-').is_some() { -1 } else { 1 };
    let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    let two = |text: &str, below: i64| -> Option<i64> {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| digits && *number < below)
    };
    Some(sign * (two(hours, 24)? * 3_600 + two(minutes, 60)? * 60))
}

fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let past = usize::try_from(month).ok()?.checked_sub(1)?;
    if !(1..=*months.get(past)?).contains(&day) {
        return None;
    }
    let days_of = |year: i64| if leap(year) { 366 } else { 365 };
    let years: i64 = if year >= 1970 {
        (1970..year).map(days_of).sum()
    } else {
        -(year..1970).map(days_of).sum::<i64>()
    };
    Some(years + months[..past].iter().sum::<i64>() + day - 1)
}

/// An actor prints as it was read, and an agent's name cannot pass for another kind of actor.
fn check_agent(text: &str) {
    if let Some(actor) = Actor::parse(text) {
        assert_eq!(actor.to_string(), text);
    }
    let Ok(agent) = AgentId::parse(text) else { return };
    assert_eq!(agent.as_str(), text);
    assert!(!text.contains(char::is_control) && !text.trim().is_empty());
    let actor = Actor::parse(text).expect("a name is an actor's");
    assert_eq!(actor == Actor::Agent(agent.clone()), !agent.is_reserved());
}
