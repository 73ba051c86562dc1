//! `STATE.json`: parsed with every problem named, written so that untouched fields stay.

use std::collections::BTreeMap;

use adjutant_core::story::claim::ClaimedResult;
use adjutant_core::story::{ExecutorMessage, HumanNote, StepRuleTable, StoryState, TestTotals};
use adjutant_model::Time;
use adjutant_model::answer::FieldProblem;
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryHold, StoryId};
use serde_json::{Map, Value, json};

/// The fields of a new file, in order.
pub const FIELDS: [&str; 17] = [
    "project",
    "story",
    "step",
    "attempt",
    "max_attempts",
    "status",
    "reason",
    "dispatched_at",
    "completed_at",
    "timeout_min",
    "tests",
    "failing_tests",
    "lint_pass",
    "files_changed",
    "blocked_by",
    "human_note",
    "last_error",
];

/// The fields that Adjutant writes only if they have a value.
pub const OWN_FIELDS: [&str; 17] = [
    "executor_summary",
    "executor_questions",
    "executor_notes",
    "human_note_told",
    "waiting_for",
    "previous_error",
    "dispatches",
    "reopened_from",
    "human_steps",
    "papers_before",
    "dispatched_by",
    "started_at",
    "base_commit",
    "auto",
    "agent",
    "taken_up_at",
    "last_request",
];

/// A parsed `STATE.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct StateFile {
    pub state: StoryState,
    /// Odd values in the file, and how they were read.
    pub warnings: Vec<String>,
    fields: Map<String, Value>,
}

impl StateFile {
    /// Makes a file without any field yet.
    pub fn new(state: StoryState) -> Self {
        Self { state, warnings: vec![], fields: Map::new() }
    }

    /// Makes the file of a new story, with its fields in their usual order.
    pub fn with_fields(state: StoryState, rules: &StepRuleTable) -> Self {
        let fields = Self::new(state.clone()).merge_fields(&state, rules);
        Self { state, warnings: vec![], fields }
    }

    /// Parses a file, or names every problem in it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Vec<FieldProblem>> {
        let problem = |message: String| vec![FieldProblem::new("", message)];
        let text = std::str::from_utf8(bytes).map_err(|_| problem("is not UTF-8 text".into()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value: Value = serde_json::from_str(text)
            .map_err(|error| problem(format!("line {}: is not JSON: {error}", error.line())))?;
        let Value::Object(fields) = value else {
            return Err(problem("is not a JSON object".into()));
        };
        let mut reader = StateReader { fields: &fields, problems: vec![], warnings: vec![] };
        let state = reader.state();
        let (problems, warnings) = (reader.problems, reader.warnings);
        if problems.is_empty() { Ok(Self { state, warnings, fields }) } else { Err(problems) }
    }

    /// Returns a skipped step of a person to the story: another program moved the story past it.
    pub(super) fn undo_skip(&mut self, rules: &StepRuleTable) {
        let Some(step) = self.state.skipped_human_step(rules) else { return };
        let state = self.state.returned_to_human_step(step);
        self.fields = self.merge_fields(&state, rules);
        self.warnings.extend(state.last_error.clone());
        self.state = state;
    }

    /// Returns a field of the file that no decision uses.
    pub fn extra(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// Sets a field of the file that no decision uses.
    pub fn set_extra(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value);
    }

    /// Returns the text of the file with another state. Unchanged fields keep their spelling, and
    /// unknown fields keep their position.
    pub fn to_text(&self, state: &StoryState, rules: &StepRuleTable) -> String {
        let fields = Value::Object(self.merge_fields(state, rules));
        let mut text = serde_json::to_string_pretty(&fields).unwrap_or_default();
        text.push('\n');
        text
    }

    fn merge_fields(&self, state: &StoryState, rules: &StepRuleTable) -> Map<String, Value> {
        let mut fields = self.fields.clone();
        let before = if self.fields.contains_key("step") { Some(&self.state) } else { None };
        let old = before.map(|state| state_fields(state, rules)).unwrap_or_default();
        for (name, value) in state_fields(state, rules) {
            let limit = matches!(name, "max_attempts" | "timeout_min");
            let same = !limit && old.iter().any(|(key, old)| *key == name && *old == value);
            let known = fields.contains_key(name);
            let is_written = FIELDS.contains(&name) || !is_empty_value(&value);
            if (!same || !known) && (known || is_written) {
                fields.insert(name.to_owned(), value);
            }
        }
        fields
    }
}

fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns the fields of a state as they are written.
fn state_fields(state: &StoryState, rules: &StepRuleTable) -> Vec<(&'static str, Value)> {
    let rule = rules.get(state.step);
    let names = |stories: &[StoryId]| -> Value { stories.iter().map(StoryId::as_str).collect() };
    let time = |time: Option<Time>| time.map(|time| time.to_string());
    let tests = state.tests.map(|t| json!({"pass": t.pass, "fail": t.fail, "skip": t.skip}));
    let note = state.human_note.as_ref();
    let message = state.message.as_ref();
    let dispatches: Map<String, Value> =
        state.dispatches.iter().map(|(step, count)| (step.to_string(), json!(count))).collect();
    let mut values = vec![
        ("project", json!(state.project)),
        ("story", json!(state.story.as_ref().map(StoryId::as_str))),
        ("step", json!(state.step.as_str())),
        ("attempt", json!(state.attempt)),
    ];
    if let Some(rule) = rule {
        values.push(("max_attempts", json!(rule.max_attempts)));
    }
    values.extend([
        ("status", json!(state.status.as_str())),
        ("reason", json!(state.reason.map(StepFailReason::as_str))),
        ("dispatched_at", json!(time(state.dispatched_at))),
        ("completed_at", json!(time(state.completed_at))),
    ]);
    if let Some(rule) = rule {
        values.push(("timeout_min", json!(rule.timeout_min)));
    }
    values.extend([
        ("tests", json!(tests)),
        ("failing_tests", json!(state.failing_tests)),
        ("lint_pass", json!(state.lint_pass)),
        ("files_changed", json!(state.files_changed)),
        ("blocked_by", names(&state.blocked_by)),
        ("human_note", json!(note.map(|note| &note.text))),
        ("last_error", json!(state.last_error)),
        ("executor_summary", json!(message.and_then(ExecutorMessage::summary))),
        ("executor_questions", json!(message.map(ExecutorMessage::questions).unwrap_or_default())),
        ("executor_notes", json!(message.and_then(ExecutorMessage::notes))),
        ("human_note_told", json!(note.is_some_and(|note| note.is_delivered))),
        ("waiting_for", json!(state.hold.map(StoryHold::as_str))),
        ("previous_error", json!(state.previous)),
        ("dispatches", Value::Object(dispatches)),
        ("reopened_from", json!(state.reopened_from.map(Step::as_str))),
        ("human_steps", state.human_steps.iter().map(|step| step.as_str()).collect()),
    ]);
    values
}

/// Reads fields and collects their problems.
struct StateReader<'a> {
    fields: &'a Map<String, Value>,
    problems: Vec<FieldProblem>,
    warnings: Vec<String>,
}

impl StateReader<'_> {
    fn state(&mut self) -> StoryState {
        let step =
            self.step("step").unwrap_or_else(|| self.problem("step", STEP_MISSING, Step::Bdd));
        let story = self.story();
        let project = self.text("project").unwrap_or_default();
        let mut state = StoryState::new(&project, story, step);
        state.status = self.status();
        state.reason = self.reason();
        state.attempt = self.attempt();
        state.dispatched_at = self.time("dispatched_at");
        state.completed_at = self.time("completed_at");
        state.tests = self.tests();
        state.failing_tests = self.texts("failing_tests");
        state.lint_pass = self.read_bool("lint_pass");
        state.files_changed = self.texts("files_changed");
        state.blocked_by = self.stories("blocked_by");
        let is_delivered = self.read_bool("human_note_told").unwrap_or(false);
        let note = self.text("human_note").filter(|text| !text.is_empty());
        state.human_note = note.map(|text| HumanNote { text, is_delivered });
        state.last_error = self.text("last_error");
        state.message = ExecutorMessage::new(
            self.text("executor_summary").as_deref(),
            self.texts("executor_questions"),
            self.text("executor_notes").as_deref(),
        );
        state.previous = self.text("previous_error");
        state.hold = self.text("waiting_for").and_then(|text| StoryHold::parse(&text));
        state.dispatches = self.dispatches();
        state.reopened_from = self.step("reopened_from");
        let human_steps = self.field("human_steps").and_then(Value::as_array);
        let human_steps = human_steps.into_iter().flatten().filter_map(Value::as_str);
        state.human_steps = human_steps.filter_map(Step::parse).collect();
        state
    }

    fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn problem<T>(&mut self, name: &str, message: &str, instead: T) -> T {
        self.problems.push(FieldProblem::new(name, message));
        instead
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match self.field(name)? {
            Value::String(text) => Some(text.clone()),
            _ => self.problem(name, "must be text or null", None),
        }
    }

    fn step(&mut self, name: &str) -> Option<Step> {
        let text = self.text(name)?;
        let step = Step::parse(&text);
        if step.is_none() {
            let all = Step::ALL.map(Step::as_str).join(", ");
            return self.problem(name, &format!("{text:?} is not one of: {all}"), Some(Step::Bdd));
        }
        step
    }

    fn story(&mut self) -> Option<StoryId> {
        let text = self.text("story")?;
        match StoryId::parse(&text) {
            Ok(story) => Some(story),
            Err(error) => self.problem("story", &error.to_string(), None),
        }
    }

    /// An unknown status is read as the hook reads an executor's status.
    fn status(&mut self) -> StepStatus {
        let Some(text) = self.text("status") else {
            return self.problem("status", "is missing", StepStatus::Pending);
        };
        if let Some(status) = StepStatus::parse(&text) {
            return status;
        }
        let claimed = ClaimedResult { status: Some(text), ..ClaimedResult::default() };
        claimed.status(&mut self.warnings).unwrap_or(StepStatus::Failing)
    }

    fn reason(&mut self) -> Option<StepFailReason> {
        let claimed = ClaimedResult { reason: self.text("reason"), ..ClaimedResult::default() };
        claimed.reason(&mut self.warnings)
    }

    fn attempt(&mut self) -> u32 {
        let Some(value) = self.field("attempt") else { return 1 };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| *number > 0) {
            Some(number) => number,
            None => self.problem("attempt", "must be a whole number from 1", 1),
        }
    }

    /// Accepts RFC 3339 and milliseconds since 1970, which other programs write.
    fn time(&mut self, name: &str) -> Option<Time> {
        let value = self.field(name)?.clone();
        let time = match &value {
            Value::String(text) => Time::parse(text).ok(),
            Value::Number(millis) => millis.as_i64().map(Time::from_millis),
            _ => None,
        };
        if time.is_none() {
            let message = "must be an RFC 3339 time, such as 2026-02-13T14:30:00Z";
            return self.problem(name, message, None);
        }
        time
    }

    fn tests(&mut self) -> Option<TestTotals> {
        let value = self.field("tests")?;
        let count = |name: &str| match value.get(name) {
            None | Some(Value::Null) => Some(0),
            Some(count) => count.as_u64(),
        };
        let counts = (count("pass"), count("fail"), count("skip"));
        let (true, (Some(pass), Some(fail), Some(skip))) = (value.is_object(), counts) else {
            let message = "must have whole numbers `pass`, `fail` and `skip`";
            return self.problem("tests", message, None);
        };
        Some(TestTotals { pass, fail, skip })
    }

    fn texts(&mut self, name: &str) -> Vec<String> {
        let Some(value) = self.field(name) else { return vec![] };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = value.as_array().and_then(|list| list.iter().map(text).collect());
        texts.unwrap_or_else(|| self.problem(name, "must be a list of texts", vec![]))
    }

    fn read_bool(&mut self, name: &str) -> Option<bool> {
        match self.field(name)? {
            Value::Bool(truth) => Some(*truth),
            _ => self.problem(name, "must be true, false or null", None),
        }
    }

    fn stories(&mut self, name: &str) -> Vec<StoryId> {
        let parse = |text: &String| StoryId::parse(text);
        let stories: Result<Vec<StoryId>, _> = self.texts(name).iter().map(parse).collect();
        stories.unwrap_or_else(|error: adjutant_model::story::id::BadStoryId| {
            self.problem(name, &error.to_string(), vec![])
        })
    }

    fn dispatches(&mut self) -> BTreeMap<Step, u32> {
        let Some(Value::Object(map)) = self.field("dispatches") else { return BTreeMap::new() };
        let entry = |(name, count): (&String, &Value)| {
            Some((Step::parse(name)?, u32::try_from(count.as_u64()?).ok()?))
        };
        map.iter().filter_map(entry).collect()
    }
}

const STEP_MISSING: &str = "is missing";

#[cfg(test)]
mod tests {
    use adjutant_core::story::{StoryInput, advance_story};

    use super::*;
    use crate::files::rules::defaults;

    /// The example of the protocol.
    const SEED: &str = r#"{
  "project": "cart-app",
  "story": "US-005",

  "step": "impl",
  "attempt": 2,
  "max_attempts": 5,
  "status": "failing",
  "reason": null,

  "dispatched_at": "2026-02-13T14:30:00Z",
  "completed_at": "2026-02-13T14:31:15Z",
  "timeout_min": 10,

  "tests": { "pass": 42, "fail": 2, "skip": 1 },
  "failing_tests": [
    "cart_test.go:TestApplyCoupon",
    "cart_test.go:TestRemoveExpired"
  ],
  "lint_pass": true,
  "files_changed": ["internal/cart/service.go"],

  "blocked_by": [],
  "human_note": null
}"#;

    fn parse(text: &str) -> StateFile {
        StateFile::parse(text.as_bytes()).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    #[test]
    fn state_example_of_the_protocol_is_read_and_written() {
        let file = parse(SEED);
        let state = &file.state;
        assert_eq!((state.step, state.attempt, state.status), (Step::Impl, 2, StepStatus::Failing));
        assert_eq!(state.tests, Some(TestTotals { pass: 42, fail: 2, skip: 1 }));
        assert_eq!(state.failing_tests.len(), 2);
        let text = file.to_text(state, &defaults());
        assert_eq!(parse(&text).state, *state);
        // An unchanged time keeps its spelling.
        assert!(text.contains("\"dispatched_at\": \"2026-02-13T14:30:00Z\""), "{text}");
    }

    #[test]
    fn new_state_file_has_every_field_in_order() {
        let state =
            StoryState::new("cart-app", Some(StoryId::parse("US-1").expect("good")), Step::Bdd);
        let text = StateFile::new(state.clone()).to_text(&state, &defaults());
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let names: Vec<&String> = value.as_object().expect("an object").keys().collect();
        assert_eq!(names, FIELDS);
        assert_eq!((&value["max_attempts"], &value["timeout_min"]), (&json!(3), &json!(5)));
    }

    #[test]
    fn unknown_state_fields_keep_their_position() {
        let text = r#"{"task_type":"story","project":"p","story":null,"step":"bootstrap",
            "agent_teams":true,"attempt":1,"status":"pending","reopened_from":null,"x":{"y":[1]}}"#;
        let file = parse(text);
        let now = Time::parse("2026-02-13T14:30:00Z").expect("a time");
        let next = StoryInput::Next { now, note: None, open: vec![] };
        let decision = advance_story(&defaults(), &file.state, &next);
        let written = file.to_text(&decision.state, &defaults());
        let value: Value = serde_json::from_str(&written).expect("JSON");
        let names: Vec<&str> =
            value.as_object().expect("an object").keys().map(String::as_str).collect();
        let first = ["task_type", "project", "story", "step", "agent_teams", "attempt", "status"];
        assert_eq!(names[..9], [&first[..], &["reopened_from", "x"]].concat());
        assert_eq!((&value["x"], &value["task_type"]), (&json!({"y": [1]}), &json!("story")));
        assert_eq!((&value["status"], &value["step"]), (&json!("running"), &json!("bootstrap")));
    }

    #[test]
    fn state_with_every_step_and_status_is_read_back() {
        for step in Step::ALL {
            for status in StepStatus::ALL {
                let mut state = StoryState::new("p", None, step);
                state.status = status;
                state.hold = Some(StoryHold::Limit);
                state.dispatches.insert(Step::Impl, 3);
                state.human_note = Some(HumanNote { text: "x".into(), is_delivered: true });
                state.previous = Some("it broke".into());
                state.reopened_from = Some(Step::Impl);
                let text = StateFile::new(state.clone()).to_text(&state, &defaults());
                assert_eq!(parse(&text).state, state);
            }
        }
    }

    #[test]
    fn state_words_of_other_programs_are_read_with_a_warning() {
        let file = parse(r#"{"project":"p","step":"impl","status":"passing","reason":"no time"}"#);
        assert_eq!((file.state.status, file.state.reason), (StepStatus::Pass, None));
        assert_eq!(file.warnings.len(), 2, "{:?}", file.warnings);
        let file = parse(r#"{"step":"impl","status":"running","dispatched_at":1771079400000}"#);
        assert_eq!(file.state.dispatched_at, Some(Time::from_millis(1_771_079_400_000)));
    }

    #[test]
    fn state_file_problems_are_all_named() {
        let problems = |text: &[u8]| -> Vec<String> {
            let problems = StateFile::parse(text).expect_err("it is wrong");
            problems.iter().map(ToString::to_string).collect()
        };
        let text = br#"{"project":1,"story":"../x","step":"ship","attempt":0,"status":7,
            "dispatched_at":"noon","tests":[],"failing_tests":"a","lint_pass":"yes",
            "blocked_by":["a b"],"human_note":5}"#;
        let named: Vec<String> = problems(text)
            .iter()
            .map(|problem| problem.split(':').next().unwrap_or_default().to_owned())
            .collect();
        let fields = [
            "step",
            "story",
            "project",
            "status",
            "status",
            "attempt",
            "dispatched_at",
            "tests",
            "failing_tests",
            "lint_pass",
            "blocked_by",
            "human_note",
        ];
        assert_eq!(named, fields);
        for odd in [&b""[..], b"{", b"[]", b"null", b"\xff\xfe", b"{\"step\":\"impl\"", b"{}"] {
            assert!(!problems(odd).is_empty());
        }
    }
}
