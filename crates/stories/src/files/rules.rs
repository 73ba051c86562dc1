//! Reads step rules; the defaults and a project's own rules have the same form and the same reader.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use adjutant_core::story::{StepRule, StepRuleTable};
use adjutant_model::relative_path::RelPath;
use adjutant_model::story::{Step, StepFailReason};
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{DefaultMessageFormatter, MessageFormatter};

/// The default rules.
const DEFAULTS: &str = include_str!("step-rules.yaml");

/// The longest rules file that is read.
pub(super) const BYTES_MAX: usize = 1024 * 1024;

/// The longest timeout of a step or of the tests, in minutes: a week.
pub const MINUTES_MAX: u32 = 7 * 24 * 60;

/// Invalid step rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRules {
    pub path: PathBuf,
    /// From 1; `None` if the file cannot be read at all.
    pub line: Option<u64>,
    pub what: String,
}

/// Returns the default rules.
pub fn defaults() -> StepRuleTable {
    let read = parse(DEFAULTS).map_err(|bad| bad.what).and_then(to_rules);
    read.expect("the rules in the source are whole; a test reads them")
}

/// Parses the text of a project's rules, merged over the defaults field by field. Without a text,
/// returns the defaults.
pub fn parse_text(text: Option<&str>, path: &Path) -> Result<StepRuleTable, InvalidRules> {
    let Some(text) = text else { return Ok(defaults()) };
    merge_over_defaults(text).map_err(|bad| InvalidRules { path: path.to_owned(), ..bad })
}

/// Parses a project's rules, merged over the defaults field by field.
pub fn merge_over_defaults(text: &str) -> Result<StepRuleTable, InvalidRules> {
    let project = parse(text)?;
    let mut all = parse(DEFAULTS).expect("the rules in the source are good; a test reads them");
    all.merge(project);
    to_rules(all).map_err(|what| InvalidRules { path: PathBuf::new(), line: None, what })
}

/// A rules file; every field may be absent.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    steps: BTreeMap<StepName, RuleFile>,
    #[serde(default, deserialize_with = "optional_field")]
    test_command: OptionalField<Option<NonBlankText>>,
    #[serde(default, deserialize_with = "optional_field")]
    test_format: OptionalField<Option<TestFormatName>>,
    #[serde(default, deserialize_with = "optional_field")]
    test_report: OptionalField<Option<ProjectPath>>,
    #[serde(default, deserialize_with = "optional_field")]
    test_timeout_min: OptionalField<MinuteLimit>,
}

/// The rule of a step; every field may be absent.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default, deserialize_with = "optional_field")]
    display_name: OptionalField<NonBlankText>,
    #[serde(default, deserialize_with = "optional_field")]
    next_on_pass: OptionalField<StepName>,
    #[serde(default, deserialize_with = "optional_field")]
    next_on_fail: OptionalField<StepName>,
    #[serde(default)]
    on_fail: BTreeMap<FailRoute, StepName>,
    #[serde(default, deserialize_with = "optional_field")]
    max_attempts: OptionalField<AttemptLimit>,
    #[serde(default, deserialize_with = "optional_field")]
    timeout_min: OptionalField<MinuteLimit>,
    #[serde(default, deserialize_with = "optional_field")]
    requires_human: OptionalField<bool>,
    #[serde(default, deserialize_with = "optional_field")]
    treat_failing_as_pass: OptionalField<bool>,
    #[serde(default, deserialize_with = "optional_field")]
    claude_reads: OptionalField<Vec<String>>,
    #[serde(default, deserialize_with = "optional_field")]
    claude_writes: OptionalField<Vec<String>>,
    #[serde(default, deserialize_with = "optional_field")]
    post_check: OptionalField<Option<NonBlankText>>,
    #[serde(default, deserialize_with = "optional_field")]
    post_check_needs: OptionalField<Option<NonBlankText>>,
    #[serde(default, deserialize_with = "optional_field")]
    step_instruction: OptionalField<NonBlankText>,
}

/// A field that a file may leave out. `null` counts as given.
#[derive(Debug)]
struct OptionalField<T>(Option<T>);

impl<T> Default for OptionalField<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> OptionalField<T> {
    fn merge(&mut self, over: Self) {
        if over.0.is_some() {
            self.0 = over.0;
        }
    }
}

fn optional_field<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<OptionalField<T>, D::Error> {
    T::deserialize(from).map(|value| OptionalField(Some(value)))
}

impl RulesFile {
    fn merge(&mut self, over: Self) {
        for (step, rule) in over.steps {
            self.steps.entry(step).or_default().merge(rule);
        }
        self.test_command.merge(over.test_command);
        self.test_format.merge(over.test_format);
        self.test_report.merge(over.test_report);
        self.test_timeout_min.merge(over.test_timeout_min);
    }
}

impl RuleFile {
    fn merge(&mut self, over: Self) {
        // A project's own check needs only what the project names, not what the
        // default check needs.
        if over.post_check.0.is_some() {
            self.post_check_needs = OptionalField(None);
        }
        // `next_on_fail` and `on_fail.default` are two spellings of one field.
        if over.next_on_fail.0.is_some() {
            self.on_fail.remove(&FailRoute(None));
        }
        self.display_name.merge(over.display_name);
        self.next_on_pass.merge(over.next_on_pass);
        self.next_on_fail.merge(over.next_on_fail);
        self.on_fail.extend(over.on_fail);
        self.max_attempts.merge(over.max_attempts);
        self.timeout_min.merge(over.timeout_min);
        self.requires_human.merge(over.requires_human);
        self.treat_failing_as_pass.merge(over.treat_failing_as_pass);
        self.claude_reads.merge(over.claude_reads);
        self.claude_writes.merge(over.claude_writes);
        self.post_check.merge(over.post_check);
        self.post_check_needs.merge(over.post_check_needs);
        self.step_instruction.merge(over.step_instruction);
    }
}

fn parse(text: &str) -> Result<RulesFile, InvalidRules> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(RulesFile::default());
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let what = DefaultMessageFormatter.format_message(&error).into_owned();
        let what = what.lines().next().unwrap_or_default().to_owned();
        let line = error.location().map_or(1, |at| at.line());
        InvalidRules { path: PathBuf::new(), line: Some(line), what }
    })
}

fn to_rules(file: RulesFile) -> Result<StepRuleTable, String> {
    let mut steps = BTreeMap::new();
    for (StepName(step), rule) in file.steps {
        let rule = to_rule(step, rule).map_err(|what| format!("steps.{step}: {what}"))?;
        steps.insert(step, rule);
    }
    let minutes = file.test_timeout_min.0.map_or(10, |minutes| minutes.0);
    let mut rules = StepRuleTable::new(steps, minutes).map_err(|error| error.to_string())?;
    rules.test_command = file.test_command.0.flatten().map(|text| text.0);
    rules.test_format = file.test_format.0.flatten().map(|format| format.0);
    rules.test_report = file.test_report.0.flatten().map(|path| path.0);
    Ok(rules)
}

fn to_rule(step: Step, rule: RuleFile) -> Result<StepRule, String> {
    if step == Step::Done {
        return Err("the step done has no rules, because nothing follows it".to_owned());
    }
    let requires_human = rule.requires_human.0.unwrap_or(false);
    let timeout_min = rule.timeout_min.0.map_or(5, |minutes| minutes.0);
    if timeout_min == 0 && !requires_human {
        return Err("timeout_min must be at least 1 unless requires_human is true".to_owned());
    }
    let default = rule.on_fail.get(&FailRoute(None)).copied().or(rule.next_on_fail.0);
    let routes = rule.on_fail.iter().filter_map(|(route, step)| Some((route.0?, step.0)));
    Ok(StepRule {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StepName(Step);

impl<'de> Deserialize<'de> for StepName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        let all = Step::ALL.map(Step::as_str).join(", ");
        let unknown = || D::Error::custom(format!("`{name}` is not a step; the steps are: {all}"));
        Step::parse(&name).map(Self).ok_or_else(unknown)
    }
}

/// The name of a reason; `None` is `default`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FailRoute(Option<StepFailReason>);

impl<'de> Deserialize<'de> for FailRoute {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        if name == "default" {
            return Ok(Self(None));
        }
        let all = StepFailReason::ALL.map(StepFailReason::as_str).join(", ");
        let unknown = || {
            D::Error::custom(format!("`{name}` is not a reason; the reasons are: default, {all}"))
        };
        StepFailReason::parse(&name).map(|reason| Self(Some(reason))).ok_or_else(unknown)
    }
}

/// A number of attempts, from 1 to 1000.
#[derive(Debug, Clone, Copy)]
struct AttemptLimit(u32);

impl<'de> Deserialize<'de> for AttemptLimit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        whole_number(from, 1, 1_000).map(Self)
    }
}

/// A number of minutes, from 0 to [`MINUTES_MAX`].
#[derive(Debug, Clone, Copy)]
struct MinuteLimit(u32);

impl<'de> Deserialize<'de> for MinuteLimit {
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

/// A text that is not blank.
#[derive(Debug, Clone)]
struct NonBlankText(String);

impl<'de> Deserialize<'de> for NonBlankText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text.trim().is_empty() {
            return Err(D::Error::invalid_value(
                Unexpected::Str(&text),
                &"a text that is not blank",
            ));
        }
        Ok(Self(text))
    }
}

/// A path that stays inside the project.
#[derive(Debug, Clone)]
struct ProjectPath(String);

impl<'de> Deserialize<'de> for ProjectPath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        RelPath::parse(&text).map_err(D::Error::custom)?;
        Ok(Self(text))
    }
}

/// The known formats of test output.
pub const TEST_FORMATS: [&str; 7] = ["go", "cargo", "pytest", "unittest", "junit", "tap", "jest"];

#[derive(Debug, Clone)]
struct TestFormatName(String);

impl<'de> Deserialize<'de> for TestFormatName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = String::deserialize(from)?;
        if TEST_FORMATS.contains(&name.as_str()) {
            return Ok(Self(name));
        }
        let all = TEST_FORMATS.join(", ");
        Err(D::Error::custom(format!("`{name}` is not a test format; the formats are: {all}")))
    }
}

impl fmt::Display for InvalidRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for InvalidRules {}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        merge_over_defaults(text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn default_rules_match_the_protocol() {
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
        let implement = rules.get(Step::Impl).expect("a rule");
        assert_eq!(implement.post_check.as_deref(), Some("go vet ./... && golangci-lint run"));
        assert_eq!(implement.post_check_needs.as_deref(), Some("go.mod"));
    }

    #[test]
    fn project_rules_override_field_by_field() {
        let text = "test_command: npm test\nsteps:\n  impl:\n    max_attempts: 2\n    \
                    post_check: eslint . && tsc --noEmit\n    on_fail:\n      scope_warning: impl\n  \
                    verify:\n    next_on_fail: verify\n  bdd:\n    post_check: null\n";
        let (rules, before) = (merge_over_defaults(text).expect("good rules"), defaults());
        let mut expected = before.get(Step::Impl).expect("a rule").clone();
        expected.max_attempts = 2;
        expected.post_check = Some("eslint . && tsc --noEmit".to_owned());
        expected.post_check_needs = None;
        expected.on_fail.insert(StepFailReason::ScopeWarning, Step::Impl);
        assert_eq!(rules.get(Step::Impl), Some(&expected));
        assert_eq!(rules.get(Step::Verify).map(|rule| rule.next_on_fail), Some(Step::Verify));
        assert_eq!(rules.get(Step::Contract), before.get(Step::Contract));
        assert_eq!(rules.test_command.as_deref(), Some("npm test"));
    }

    #[test]
    fn empty_rules_file_changes_nothing() {
        for text in ["", "# nothing\n\n", "steps: {}\n"] {
            assert_eq!(merge_over_defaults(text), Ok(defaults()), "{text:?}");
        }
    }

    #[test]
    fn invalid_rules_are_an_error_with_its_line() {
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
            let bad = merge_over_defaults(text).expect_err("it is wrong");
            assert_eq!(bad.line, Some(line), "{text:?}: {bad}");
        }
        assert!(wrong("steps:\n  impl:\n    max_atempts: 2\n").contains("max_atempts"));
        assert!(wrong("steps:\n  implement: {}\n").contains("`implement` is not a step"));
        assert!(wrong("steps:\n  impl:\n    timeout_min: 0\n").contains("steps.impl: timeout_min"));
        assert!(wrong("steps:\n  done: {}\n").contains("steps.done"));
    }
}
