//! Reads step rules: the defaults and a project's own have the same form and the same reader.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use adjutant_core::path::RelPath;
use adjutant_core::pipeline::{Reason, Rule, Rules, Step};
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{DefaultMessageFormatter, MessageFormatter};

/// What holds where a project says nothing else.
const DEFAULTS: &str = include_str!("step-rules.yaml");

/// The most bytes of rules that are looked at.
const BYTES_MAX: u64 = 1024 * 1024;

/// The most minutes a step or the tests may take: a week.
pub const MINUTES_MAX: u32 = 7 * 24 * 60;

/// Rules that make no sense, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRules {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; none if the file cannot be read at all.
    pub line: Option<u64>,
    /// What is wrong there.
    pub what: String,
}

/// Returns the rules that hold where a project says nothing else.
pub fn defaults() -> Rules {
    let read = parse(DEFAULTS).map_err(|bad| bad.what).and_then(finish);
    read.expect("the rules in the source are whole; a test reads them")
}

/// Reads a project's rules over the defaults, field by field. Without the file, the defaults hold.
pub fn load(path: &Path) -> Result<Rules, BadRules> {
    let bad = |what: String| BadRules { path: path.to_owned(), line: None, what };
    match std::fs::metadata(path) {
        Ok(file) if file.len() > BYTES_MAX => {
            return Err(bad(format!("longer than {BYTES_MAX} bytes")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(defaults()),
        Err(error) => return Err(bad(error.to_string())),
    }
    let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    over_defaults(&text).map_err(|bad| BadRules { path: path.to_owned(), ..bad })
}

/// Reads a project's rules over the defaults, field by field.
pub fn over_defaults(text: &str) -> Result<Rules, BadRules> {
    let project = parse(text)?;
    let mut all = parse(DEFAULTS).expect("the rules in the source are good; a test reads them");
    all.put(project);
    finish(all).map_err(|what| BadRules { path: PathBuf::new(), line: None, what })
}

/// A file of rules, as far as it says something.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    steps: BTreeMap<StepName, RuleFile>,
    #[serde(default, deserialize_with = "given")]
    test_command: Given<Option<Text>>,
    #[serde(default, deserialize_with = "given")]
    test_format: Given<Option<Format>>,
    #[serde(default, deserialize_with = "given")]
    test_report: Given<Option<Inside>>,
    #[serde(default, deserialize_with = "given")]
    test_timeout_min: Given<Minutes>,
}

/// The rule of a step, as far as a file says something.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default, deserialize_with = "given")]
    display_name: Given<Text>,
    #[serde(default, deserialize_with = "given")]
    next_on_pass: Given<StepName>,
    #[serde(default, deserialize_with = "given")]
    next_on_fail: Given<StepName>,
    #[serde(default)]
    on_fail: BTreeMap<Route, StepName>,
    #[serde(default, deserialize_with = "given")]
    max_attempts: Given<Attempts>,
    #[serde(default, deserialize_with = "given")]
    timeout_min: Given<Minutes>,
    #[serde(default, deserialize_with = "given")]
    requires_human: Given<bool>,
    #[serde(default, deserialize_with = "given")]
    treat_failing_as_pass: Given<bool>,
    #[serde(default, deserialize_with = "given")]
    claude_reads: Given<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    claude_writes: Given<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    post_check: Given<Option<Text>>,
    #[serde(default, deserialize_with = "given")]
    post_check_needs: Given<Option<Text>>,
    #[serde(default, deserialize_with = "given")]
    step_instruction: Given<Text>,
}

/// A field that a file may leave out. To say `null` is not to leave it out.
#[derive(Debug)]
struct Given<T>(Option<T>);

impl<T> Default for Given<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Given<T> {
    fn put(&mut self, over: Self) {
        if over.0.is_some() {
            self.0 = over.0;
        }
    }
}

fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Given<T>, D::Error> {
    T::deserialize(from).map(|value| Given(Some(value)))
}

impl RulesFile {
    fn put(&mut self, over: Self) {
        for (step, rule) in over.steps {
            self.steps.entry(step).or_default().put(rule);
        }
        self.test_command.put(over.test_command);
        self.test_format.put(over.test_format);
        self.test_report.put(over.test_report);
        self.test_timeout_min.put(over.test_timeout_min);
    }
}

impl RuleFile {
    fn put(&mut self, over: Self) {
        // A check of the project's own needs what the project says, not what the default needs.
        if over.post_check.0.is_some() {
            self.post_check_needs = Given(None);
        }
        // The two ways to say where a failing story goes are one field.
        if over.next_on_fail.0.is_some() {
            self.on_fail.remove(&Route(None));
        }
        self.display_name.put(over.display_name);
        self.next_on_pass.put(over.next_on_pass);
        self.next_on_fail.put(over.next_on_fail);
        self.on_fail.extend(over.on_fail);
        self.max_attempts.put(over.max_attempts);
        self.timeout_min.put(over.timeout_min);
        self.requires_human.put(over.requires_human);
        self.treat_failing_as_pass.put(over.treat_failing_as_pass);
        self.claude_reads.put(over.claude_reads);
        self.claude_writes.put(over.claude_writes);
        self.post_check.put(over.post_check);
        self.post_check_needs.put(over.post_check_needs);
        self.step_instruction.put(over.step_instruction);
    }
}

fn parse(text: &str) -> Result<RulesFile, BadRules> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(RulesFile::default());
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let what = DefaultMessageFormatter.format_message(&error).into_owned();
        let what = what.lines().next().unwrap_or_default().to_owned();
        let line = error.location().map_or(1, |at| at.line());
        BadRules { path: PathBuf::new(), line: Some(line), what }
    })
}

fn finish(file: RulesFile) -> Result<Rules, String> {
    let mut steps = BTreeMap::new();
    for (StepName(step), rule) in file.steps {
        let rule = whole(step, rule).map_err(|what| format!("steps.{step}: {what}"))?;
        steps.insert(step, rule);
    }
    let minutes = file.test_timeout_min.0.map_or(10, |minutes| minutes.0);
    let mut rules = Rules::new(steps, minutes).map_err(|error| error.to_string())?;
    rules.test_command = file.test_command.0.flatten().map(|text| text.0);
    rules.test_format = file.test_format.0.flatten().map(|format| format.0);
    rules.test_report = file.test_report.0.flatten().map(|path| path.0);
    Ok(rules)
}

fn whole(step: Step, rule: RuleFile) -> Result<Rule, String> {
    if step == Step::Done {
        return Err("nothing comes after done, so it has no rules".to_owned());
    }
    let requires_human = rule.requires_human.0.unwrap_or(false);
    let timeout_min = rule.timeout_min.0.map_or(5, |minutes| minutes.0);
    if timeout_min == 0 && !requires_human {
        return Err("timeout_min must be at least 1 where an executor works".to_owned());
    }
    let default = rule.on_fail.get(&Route(None)).copied().or(rule.next_on_fail.0);
    let routes = rule.on_fail.iter().filter_map(|(route, step)| Some((route.0?, step.0)));
    Ok(Rule {
        display_name: rule.display_name.0.map_or_else(|| step.to_string(), |text| text.0),
        next_on_pass: rule.next_on_pass.0.ok_or("next_on_pass is missing")?.0,
        next_on_fail: default.map_or(step, |step| step.0),
        on_fail: routes.collect(),
        max_attempts: rule.max_attempts.0.map_or(1, |attempts| attempts.0),
        timeout_min,
        requires_human,
        treat_failing_as_pass: rule.treat_failing_as_pass.0.unwrap_or(false),
        claude_reads: rule.claude_reads.0.unwrap_or_default(),
        claude_writes: rule.claude_writes.0.unwrap_or_default(),
        post_check: rule.post_check.0.flatten().map(|text| text.0),
        post_check_needs: rule.post_check_needs.0.flatten().map(|text| text.0),
        step_instruction: rule.step_instruction.0.map_or_else(String::new, |text| text.0),
    })
}

/// The name of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StepName(Step);

impl<'de> Deserialize<'de> for StepName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let all = Step::ALL.map(Step::as_str).join(", ");
        let unknown = || D::Error::custom(format!("`{name}` is no step; the steps are: {all}"));
        Step::parse(&name).map(Self).ok_or_else(unknown)
    }
}

/// The name of a reason, or none for `default`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Route(Option<Reason>);

impl<'de> Deserialize<'de> for Route {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        if name == "default" {
            return Ok(Self(None));
        }
        let all = Reason::ALL.map(Reason::as_str).join(", ");
        let unknown =
            || D::Error::custom(format!("`{name}` is no reason; there are: default, {all}"));
        Reason::parse(&name).map(|reason| Self(Some(reason))).ok_or_else(unknown)
    }
}

/// How many times something is tried.
#[derive(Debug, Clone, Copy)]
struct Attempts(u32);

impl<'de> Deserialize<'de> for Attempts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        whole_number(from, 1, 1_000).map(Self)
    }
}

/// How many minutes something may take.
#[derive(Debug, Clone, Copy)]
struct Minutes(u32);

impl<'de> Deserialize<'de> for Minutes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        whole_number(from, 0, MINUTES_MAX).map(Self)
    }
}

fn whole_number<'de, D: Deserializer<'de>>(
    from: D,
    least: u32,
    most: u32,
) -> Result<u32, D::Error> {
    let number = i64::deserialize(from)?;
    let fits = u32::try_from(number).ok().filter(|number| (least..=most).contains(number));
    fits.ok_or_else(|| {
        D::Error::custom(format!("{number} is not a whole number from {least} to {most}"))
    })
}

/// A text that says something.
#[derive(Debug, Clone)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.trim().is_empty() {
            return Err(D::Error::invalid_value(
                Unexpected::Str(&text),
                &"a text that says something",
            ));
        }
        Ok(Self(text))
    }
}

/// A path that stays inside the project.
#[derive(Debug, Clone)]
struct Inside(String);

impl<'de> Deserialize<'de> for Inside {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        RelPath::parse(&text).map_err(D::Error::custom)?;
        Ok(Self(text))
    }
}

/// The formats of test output that can be named.
pub const FORMATS: [&str; 6] = ["go", "cargo", "pytest", "junit", "tap", "jest"];

/// The name of a format of test output.
#[derive(Debug, Clone)]
struct Format(String);

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        if FORMATS.contains(&name.as_str()) {
            return Ok(Self(name));
        }
        let all = FORMATS.join(", ");
        Err(D::Error::custom(format!("`{name}` is no format of test output; there are: {all}")))
    }
}

impl fmt::Display for BadRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for BadRules {}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        over_defaults(text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn the_rules_in_the_source_are_those_of_the_protocol() {
        let rules = defaults();
        let rows: Vec<String> = rules
            .iter()
            .map(|(step, rule)| {
                let routes = rule.on_fail.iter().map(|(reason, to)| format!(" {reason}>{to}"));
                let human = if rule.requires_human { " human" } else { "" };
                let red = if rule.treat_failing_as_pass { " red" } else { "" };
                format!(
                    "{step}: {} | {}{} | {} {}{human}{red}",
                    rule.next_on_pass,
                    rule.next_on_fail,
                    routes.collect::<String>(),
                    rule.max_attempts,
                    rule.timeout_min,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                "bootstrap: bdd | bootstrap | 2 10",
                "bdd: sdd-delta | bdd | 3 5",
                "sdd-delta: contract | sdd-delta | 3 5",
                "contract: review | contract | 2 5",
                "review: scaffold | bdd constitution_violation>sdd-delta needs_clarification>bdd \
                 scope_warning>sdd-delta | 1 0 human",
                "scaffold: impl | scaffold | 2 5 red",
                "impl: verify | impl constitution_violation>sdd-delta \
                 needs_clarification>review scope_warning>review | 5 10",
                "verify: commit | impl | 2 5",
                "custom: commit | custom | 3 10",
                "commit: update-memory | commit | 2 3",
                "update-memory: done | update-memory | 2 3",
            ]
        );
        let implement = rules.of(Step::Impl).expect("a rule");
        assert_eq!(implement.post_check.as_deref(), Some("go vet ./... && golangci-lint run"));
        assert_eq!(implement.post_check_needs.as_deref(), Some("go.mod"));
    }

    #[test]
    fn a_project_overrides_field_by_field() {
        let text = "test_command: npm test\nsteps:\n  impl:\n    max_attempts: 2\n    \
                    post_check: eslint . && tsc --noEmit\n    on_fail:\n      scope_warning: impl\n  \
                    verify:\n    next_on_fail: verify\n  bdd:\n    post_check: null\n";
        let (rules, before) = (over_defaults(text).expect("good rules"), defaults());
        let mut expected = before.of(Step::Impl).expect("a rule").clone();
        expected.max_attempts = 2;
        expected.post_check = Some("eslint . && tsc --noEmit".to_owned());
        expected.post_check_needs = None;
        expected.on_fail.insert(Reason::ScopeWarning, Step::Impl);
        assert_eq!(rules.of(Step::Impl), Some(&expected));
        assert_eq!(rules.of(Step::Verify).map(|rule| rule.next_on_fail), Some(Step::Verify));
        assert_eq!(rules.of(Step::Contract), before.of(Step::Contract));
        assert_eq!(rules.test_command.as_deref(), Some("npm test"));
    }

    #[test]
    fn a_file_that_says_nothing_changes_nothing() {
        for text in ["", "# nothing\n\n", "steps: {}\n"] {
            assert_eq!(over_defaults(text), Ok(defaults()), "{text:?}");
        }
    }

    #[test]
    fn a_mistake_is_an_error_with_its_line() {
        for (text, line) in [
            ("steps:\n  implement:\n    max_attempts: 2\n", 2),
            ("steps:\n  impl:\n    max_atempts: 2\n", 3),
            ("steps:\n  impl:\n    max_attempts: 0\n", 3),
            ("steps:\n  impl:\n    max_attempts: many\n", 3),
            ("steps:\n  impl:\n    next_on_pass: ship\n", 3),
            ("steps:\n  impl:\n    on_fail:\n      bad_mood: bdd\n", 4),
            ("steps:\n  impl:\n    timeout_min: -1\n", 3),
            ("steps:\n  impl:\n    requires_human: perhaps\n", 3),
            ("\n\ntest_format: xml\n", 3),
            ("test_report: ../secret.xml\n", 1),
            ("steps:\n  impl: [\n", 2),
            ("steps:\n  impl:\n    max_attempts: 1\n  impl:\n    max_attempts: 2\n", 4),
        ] {
            let bad = over_defaults(text).expect_err("it is wrong");
            assert_eq!(bad.line, Some(line), "{text:?}: {bad}");
        }
        assert!(wrong("steps:\n  impl:\n    max_atempts: 2\n").contains("max_atempts"));
        assert!(wrong("steps:\n  implement: {}\n").contains("`implement` is no step"));
        assert!(wrong("steps:\n  impl:\n    timeout_min: 0\n").contains("steps.impl: timeout_min"));
        assert!(wrong("steps:\n  done: {}\n").contains("steps.done"));
    }
}
