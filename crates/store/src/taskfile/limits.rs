//! How long a run of a task may take and be silent, where the task says so itself; and whether what
//! it says of its checks makes sense.

use std::time::Duration;

use adjutant_core::answer::Problem;
use adjutant_core::span;
use serde_json::{Map, Value};

use crate::wire::millionths;

/// What a task says of its runs; what it does not say is for its agent to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// How long a run may take.
    pub timeout: Option<Limit>,
    /// How long it may print and report nothing.
    pub idle_timeout: Option<Limit>,
}

/// How long something may take, if there is an end to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// As long as it likes.
    Off,
    /// So long.
    After(Duration),
}

const EXPECTED: &str =
    "must be a length of time like \"30s\", \"5m\" or \"1h30m\", or whole seconds, or \"off\"";

/// Reads what the metadata of a task says, or names everything that is wrong with it.
pub(super) fn read(metadata: &Map<String, Value>) -> Result<Limits, Vec<Problem>> {
    let limit = |key: &str| {
        let value = metadata.get(key).filter(|value| !value.is_null());
        value.map(|value| parse(value).ok_or_else(|| Problem::new(key, EXPECTED))).transpose()
    };
    let (usd, tokens) = budgets(metadata);
    let checks = metadata.get("checks").filter(|value| !value.is_null() && !are_commands(value));
    let checks = checks.map(|_| Problem::new("checks", "must be a list of commands, as texts"));
    let others: Vec<Problem> = [usd, tokens, checks].into_iter().flatten().collect();
    match (limit("timeout"), limit("idleTimeout")) {
        (Ok(timeout), Ok(idle_timeout)) if others.is_empty() => {
            Ok(Limits { timeout, idle_timeout })
        }
        (timeout, idle) => {
            Err([timeout.err(), idle.err()].into_iter().flatten().chain(others).collect())
        }
    }
}

/// Names what is wrong with the budgets. What they say is read with the rest of the metadata.
fn budgets(metadata: &Map<String, Value>) -> (Option<Problem>, Option<Problem>) {
    let wrong = |key: &str, fits: fn(&Value) -> bool, expected: &str| {
        let value = metadata.get(key).filter(|value| !value.is_null() && !fits(value));
        value.map(|_| Problem::new(key, expected))
    };
    let usd = |value: &Value| value.as_f64().and_then(millionths).is_some();
    (
        wrong("budgetUsd", usd, "must be a number of dollars, like 2.5"),
        wrong("budgetTokens", Value::is_u64, "must be a whole number of tokens"),
    )
}

/// Who says what must pass means it: a list that nobody can read must not pass for none.
fn are_commands(value: &Value) -> bool {
    let is_command = |one: &Value| one.as_str().is_some_and(|text| !text.trim().is_empty());
    value.as_array().is_some_and(|each| each.iter().all(is_command))
}

fn parse(value: &Value) -> Option<Limit> {
    if value == "off" {
        return Some(Limit::Off);
    }
    let after = match value {
        Value::String(text) => span::parse(text)?,
        other => Duration::from_secs(other.as_u64()?),
    };
    (!after.is_zero()).then_some(Limit::After(after))
}

impl Limit {
    /// Returns the time after which it is over.
    pub fn as_duration(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::After(after) => Some(after),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(metadata: &Value) -> Result<Limits, Vec<String>> {
        let read = read(metadata.as_object().expect("a mapping"));
        read.map_err(|problems| problems.into_iter().map(|problem| problem.path).collect())
    }

    #[test]
    fn a_task_says_how_long_its_runs_may_take() {
        let after = |secs| Some(Limit::After(Duration::from_secs(secs)));
        let limits = |timeout, idle_timeout| Ok(Limits { timeout, idle_timeout });
        assert_eq!(check(&json!({"timeout": null, "other": 1})), limits(None, None));
        assert_eq!(check(&json!({"timeout": "1h30m"})), limits(after(5400), None));
        assert_eq!(
            check(&json!({"timeout": "off", "idleTimeout": 90})),
            limits(Some(Limit::Off), after(90))
        );
    }

    #[test]
    fn whatever_else_it_says_is_named() {
        for bad in [json!("soon"), json!(""), json!("90"), json!(0), json!("0s"), json!(-1)] {
            assert_eq!(check(&json!({"timeout": bad})), Err(vec!["timeout".to_owned()]), "{bad}");
        }
        for bad in [json!("2"), json!(-1), json!(true)] {
            assert_eq!(
                check(&json!({"budgetUsd": bad})),
                Err(vec!["budgetUsd".to_owned()]),
                "{bad}"
            );
        }
        assert_eq!(check(&json!({"budgetTokens": 1.5})), Err(vec!["budgetTokens".to_owned()]));
        assert!(check(&json!({"budgetTokens": 9, "budgetUsd": 1})).is_ok());
        for bad in [json!("make"), json!([1]), json!([" "])] {
            assert_eq!(check(&json!({"checks": bad})), Err(vec!["checks".to_owned()]), "{bad}");
        }
        assert!(check(&json!({"checks": ["make"]})).is_ok());
        let both = json!({"timeout": 1.5, "idleTimeout": [1]});
        assert_eq!(check(&both), Err(vec!["timeout".to_owned(), "idleTimeout".to_owned()]));
    }
}
