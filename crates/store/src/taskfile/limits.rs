//! Reads the time limits that a task file sets for its runs, and validates its budgets and checks.

use adjutant_model::answer::FieldProblem;
use adjutant_model::encoding::usd::millionths;
pub use adjutant_model::time_limits::{DurationLimit, TaskTimeLimits};
use serde_json::{Map, Value};

const EXPECTED: &str = "must be a duration such as \"30s\", \"5m\" or \"1h30m\", a whole number of \
                        seconds, or \"off\"";

/// Reads the limits from a task's metadata, or names every problem.
pub(super) fn read(metadata: &Map<String, Value>) -> Result<TaskTimeLimits, Vec<FieldProblem>> {
    let limit = |key: &str| {
        let value = metadata.get(key).filter(|value| !value.is_null());
        let wrong = || FieldProblem::new(key, EXPECTED);
        value.map(|value| DurationLimit::from_value(value).ok_or_else(wrong)).transpose()
    };
    let (usd, tokens) = budget_problems(metadata);
    let checks = metadata.get("checks").filter(|value| !value.is_null() && !are_commands(value));
    let checks = checks.map(|_| FieldProblem::new("checks", "must be a list of commands"));
    let others: Vec<FieldProblem> = [usd, tokens, checks].into_iter().flatten().collect();
    match (limit("timeout"), limit("idleTimeout")) {
        (Ok(timeout), Ok(idle_timeout)) if others.is_empty() => {
            Ok(TaskTimeLimits { timeout, idle_timeout })
        }
        (timeout, idle) => {
            Err([timeout.err(), idle.err()].into_iter().flatten().chain(others).collect())
        }
    }
}

/// Validates the budgets. Their values are read with the rest of the metadata.
fn budget_problems(metadata: &Map<String, Value>) -> (Option<FieldProblem>, Option<FieldProblem>) {
    let wrong = |key: &str, fits: fn(&Value) -> bool, expected: &str| {
        let value = metadata.get(key).filter(|value| !value.is_null() && !fits(value));
        value.map(|_| FieldProblem::new(key, expected))
    };
    let usd = |value: &Value| value.as_f64().and_then(millionths).is_some();
    (
        wrong("budgetUsd", usd, "must be a number of dollars, such as 2.5"),
        wrong("budgetTokens", Value::is_u64, "must be a whole number of tokens"),
    )
}

/// A list of checks that cannot be read is an error; it must not count as an empty list.
fn are_commands(value: &Value) -> bool {
    let is_command = |one: &Value| one.as_str().is_some_and(|text| !text.trim().is_empty());
    value.as_array().is_some_and(|each| each.iter().all(is_command))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn check(metadata: &Value) -> Result<TaskTimeLimits, Vec<String>> {
        let read = read(metadata.as_object().expect("a mapping"));
        read.map_err(|problems| problems.into_iter().map(|problem| problem.path).collect())
    }

    #[test]
    fn limits_are_read_from_task_metadata() {
        let after = |secs| Some(DurationLimit::After(Duration::from_secs(secs)));
        let limits = |timeout, idle_timeout| Ok(TaskTimeLimits { timeout, idle_timeout });
        assert_eq!(check(&json!({"timeout": null, "other": 1})), limits(None, None));
        assert_eq!(check(&json!({"timeout": "1h30m"})), limits(after(5400), None));
        assert_eq!(
            check(&json!({"timeout": "off", "idleTimeout": 90})),
            limits(Some(DurationLimit::Off), after(90))
        );
    }

    #[test]
    fn limits_budgets_and_checks_that_are_invalid_are_named() {
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
