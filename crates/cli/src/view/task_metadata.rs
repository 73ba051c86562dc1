//! Renders the metadata of a task in plain words. A field that we do not know, or that has another
//! form than ours, is shown as it is.

use serde_json::{Map, Value};

/// The fields that other lines of `task show` describe: usage and attempts. A fence is for programs.
const SHOWN_ELSEWHERE: [&str; 5] =
    ["usage", "failures", "expiredAt", "expiredReason", "reportedFence"];

/// Returns labelled lines about the metadata, in the order of the file.
pub(crate) fn lines(metadata: &Map<String, Value>) -> Vec<(String, String)> {
    let fields = metadata.iter().filter(|(name, value)| {
        let is_repeated =
            *name == "acceptedChecks" && metadata.get("checks").is_some_and(|own| own == *value);
        !SHOWN_ELSEWHERE.contains(&name.as_str()) && !is_repeated
    });
    fields
        .flat_map(|(name, value)| match describe(name, value) {
            Some(lines) => {
                lines.into_iter().map(|(label, text)| (label.to_owned(), text)).collect()
            }
            None => vec![(name.clone(), plain_value(value))],
        })
        .collect()
}

/// Returns a value without the marks of JSON where it needs none.
pub(crate) fn plain_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Describes the routing of a task, or the lease of a run.
pub(crate) fn describe_part(name: &str, value: &Value) -> Option<String> {
    match name {
        "routing" => {
            let known = ["agent", "mode", "role", "tags", "sandbox"];
            let fields = value.as_object()?;
            let is_known = fields.keys().all(|key| known.contains(&key.as_str()));
            let part = |key: &&str| Some(format!("{key} {}", plain_value(fields.get(*key)?)));
            is_known.then(|| known.iter().filter_map(part).collect::<Vec<_>>().join("; "))
        }
        "lease" => Some(format!("{}, until {}", run(value)?, value["expiresAt"].as_str()?)),
        _ => None,
    }
}

type LabelledLines = Vec<(&'static str, String)>;

/// Describes a field of ours; `None` if it has another form.
fn describe(name: &str, value: &Value) -> Option<LabelledLines> {
    let one = |label: &'static str, text: String| Some(vec![(label, text)]);
    let text = |label: &'static str| one(label, value.as_str()?.to_owned());
    match name {
        "reviewRequired" => {
            one("review", if value.as_bool()? { "required" } else { "not needed" }.to_owned())
        }
        "delegationDepth" => one("delegation depth", value.as_u64()?.to_string()),
        "lastRun" => one("last run", run(value)?),
        "openRun" => one("open run", run(value)?),
        "reportedBy" => text("reported by"),
        "feedback" => text("sent back because"),
        "notBefore" => text("not before"),
        "blockedBy" => text("blocked by"),
        "statusReason" => text("reason"),
        "answer" => text("answer"),
        "node" => text("node"),
        "timeout" => one("time limit", plain_value(value)),
        "idleTimeout" => one("idle time limit", plain_value(value)),
        "budgetUsd" => one("budget", format!("${}", value.as_f64()?)),
        "budgetTokens" => one("budget", format!("{} tokens", value.as_u64()?)),
        "checks" => strings("check", value),
        "acceptedChecks" => strings("accepted check", value),
        "question" => {
            let suggested = value["suggestedResolution"].as_str();
            let suggested = suggested.map_or_else(String::new, |it| format!(" (suggested: {it})"));
            one("question", format!("{}{suggested}", value["text"].as_str()?))
        }
        "permission" => one("permission asked", value["text"].as_str()?.to_owned()),
        "session" => {
            one("session", format!("{} of {}", value["id"].as_str()?, value["agent"].as_str()?))
        }
        "parked" => parked(value),
        "mission" => {
            let ids = ["task_id", "epic_id", "prd_id"].map(|key| value[key].as_str());
            let ids: Vec<&str> = ids.into_iter().flatten().collect();
            (!ids.is_empty()).then(|| vec![("mission", ids.join(", "))])
        }
        "delegation" => one("delegated as", value["taskId"].as_str()?.to_owned()),
        "story" => {
            let (story, step) = (value["id"].as_str()?, value["step"].as_str()?);
            let status = value["status"].as_str()?;
            one("story", format!("{story}, step {step}, attempt {}: {status}", value["attempt"]))
        }
        "work" => work(value),
        _ => None,
    }
}

/// Describes a run by its attempt and its agent.
fn run(value: &Value) -> Option<String> {
    Some(format!("attempt {} by {}", value["attempt"].as_u64()?, value["agent"].as_str()?))
}

fn strings(label: &'static str, value: &Value) -> Option<LabelledLines> {
    let items = value.as_array()?;
    if items.is_empty() {
        return Some(vec![(label, "none".to_owned())]);
    }
    items.iter().map(|item| Some((label, item.as_str()?.to_owned()))).collect()
}

fn parked(value: &Value) -> Option<LabelledLines> {
    let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let one = |item: &Value| {
        let until = item["until"].as_str().map_or_else(String::new, |at| format!(" until {at}"));
        let (agent, reason) = (item["agent"].as_str()?, item["reason"].as_str()?);
        Some(("parked agent", format!("{agent}{until}: {reason}")))
    };
    items.iter().map(one).collect()
}

/// Describes the state of the work. The evidence and a refused merge have lines of their own.
fn work(value: &Value) -> Option<LabelledLines> {
    let fields = value.as_object()?;
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let mut lines = vec![];
    for (name, value) in fields {
        match name.as_str() {
            "claim" => lines.push(("report in check", text(value, "outcome"))),
            "unsettled" => lines.push(("not on its branch", plain_value(value))),
            "merge" => lines.push(("merge method", plain_value(value))),
            "merging" => {
                let waits = value["waits"].as_str();
                let waits = waits.map_or("requested".to_owned(), |it| format!("waits: {it}"));
                lines.push(("merge", waits));
            }
            "protected" => lines.push(("protected paths", plain_value(value))),
            "allowed" => lines.push(("allowed paths", plain_value(value))),
            "evidence" | "refused" => {}
            _ => return None,
        }
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(metadata: &Value) -> Vec<String> {
        let metadata = metadata.as_object().expect("an object");
        lines(metadata).into_iter().map(|(label, text)| format!("{label}: {text}")).collect()
    }

    #[test]
    fn task_metadata_is_shown_in_plain_words() {
        let metadata = json!({
            "reviewRequired": false,
            "lastRun": {"agent": "swe", "attempt": 2, "fence": 7},
            "reportedFence": 7,
            "checks": ["make test", "make lint"],
            "acceptedChecks": ["make test", "make lint"],
            "budgetUsd": 2.5,
            "parked": {"agent": "swe", "reason": "no key", "settings": "0"},
            "work": {"evidence": "1 file changed", "merging": {"note": "ok", "waits": "main is dirty"}},
        });
        assert_eq!(
            shown(&metadata),
            [
                "review: not needed",
                "last run: attempt 2 by swe",
                "check: make test",
                "check: make lint",
                "budget: $2.5",
                "parked agent: swe: no key",
                "merge: waits: main is dirty",
            ]
        );
    }

    #[test]
    fn task_metadata_of_unknown_form_is_shown_as_it_is() {
        let metadata = json!({"team": {"size": 3}, "labels": ["a", "b"], "lastRun": "yesterday"});
        assert_eq!(shown(&metadata), ["team: {\"size\":3}", "labels: a, b", "lastRun: yesterday"]);
    }
}
