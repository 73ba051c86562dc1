//! The steps that a script agent can play.

use std::fmt;

use adjutant_config::ConfigDuration;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScriptStep {
    Work(ConfigDuration),
    Print(String),
    Complain(String),
    /// Sends a progress message.
    Progress(String),
    /// Reports the outcome. A bare word is a report with an outcome only.
    Report(#[serde(deserialize_with = "deserialize_report")] ScriptReport),
    /// Reports the result of its mission in a result document.
    Result(ResultDocument<MissionStatus>),
    /// Reports the result of its `new_task` in an `attempt_completion`.
    AttemptCompletion(ResultDocument<AttemptResult>),
    /// Delegates an existing task.
    Delegate(DelegateStep),
    /// Sends a message that the agent has no right to send.
    Lie(ForgedReport),
    Flood(OutputFlood),
    /// Writes a file; the path is relative to the working folder.
    Write(FileWrite),
    /// Hangs without ever ending.
    Hang,
    Exit(u8),
    /// Dies by this signal.
    Die(i32),
    /// Ignores the termination signal from now on.
    IgnoreTerm,
    CloseStdin,
    /// Reads standard input to the end and prints the number of bytes.
    ReadStdin,
    /// Stops itself until another process sends it a continue signal.
    Suspend,
    /// Plays other steps in a separate process without waiting for it.
    Fork(BackgroundSteps),
    /// Runs this program with these arguments, as any agent can.
    Adjutant(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptReport {
    pub outcome: ReportOutcome,
    #[serde(default)]
    pub notes: String,
    #[serde(default)]
    pub blockers: Vec<String>,
    /// How many times the report is sent.
    #[serde(default = "once")]
    pub times: u32,
}

/// The result document of a mission or a `new_task`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultDocument<S> {
    pub status: S,
    #[serde(default)]
    pub notes: String,
    #[serde(default)]
    pub files: Vec<String>,
    /// Advice for similar work; only in a mission's result.
    #[serde(default)]
    pub tips: Vec<String>,
    #[serde(default)]
    pub questions: Vec<String>,
    #[serde(default)]
    pub blockers: Vec<String>,
    /// The task id to report on; `None` means its own.
    #[serde(default)]
    pub task: Option<String>,
    #[serde(default)]
    pub by: DocumentDelivery,
}

/// How a document is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentDelivery {
    #[default]
    File,
    /// Half of the file, and the other half two seconds later.
    Halves,
    /// Only half of the file.
    Half,
    /// A file that cannot be parsed.
    Nonsense,
    /// On standard output, in the document's own format.
    Output,
    /// On standard output, as JSON on one line.
    Line,
    /// With `adjutant send`.
    Send,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissionStatus {
    Completed,
    Failed,
    Blocked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    Success,
    Failure,
    ClarificationNeeded,
    ConflictDetected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportOutcome {
    Done,
    Partial,
    Blocked,
    #[serde(alias = "needs_review")]
    NeedsReview,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegateStep {
    pub task: String,
    pub to: String,
    #[serde(default)]
    pub criteria: Vec<String>,
}

/// A forged report of done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ForgedReport {
    /// For another agent's task.
    Task(String),
    /// In another agent's name.
    Agent(String),
    /// With a wrong token.
    Token(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputFlood {
    pub bytes: u64,
    #[serde(default)]
    pub of: FloodContent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloodContent {
    #[default]
    Lines,
    OneLine,
    Binary,
    /// One message that never ends.
    Message,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileWrite {
    pub path: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackgroundSteps {
    /// Whether the process starts its own session and so leaves its parent's process group.
    #[serde(default)]
    pub session: bool,
    pub steps: Vec<ScriptStep>,
}

impl ScriptReport {
    fn from_outcome(outcome: ReportOutcome) -> Self {
        Self { outcome, notes: String::new(), blockers: vec![], times: once() }
    }
}

/// Reads a report that is a bare outcome or a map. Unlike an untagged enum, this names what is
/// wrong in the map.
fn deserialize_report<'de, D: Deserializer<'de>>(from: D) -> Result<ScriptReport, D::Error> {
    struct ReportVisitor;
    impl<'de> Visitor<'de> for ReportVisitor {
        type Value = ScriptReport;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an outcome, or a report with an `outcome`")
        }

        fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<ScriptReport, E> {
            ReportOutcome::deserialize(StrDeserializer::new(word)).map(ScriptReport::from_outcome)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ScriptReport, A::Error> {
            ScriptReport::deserialize(MapAccessDeserializer::new(map))
        }
    }
    from.deserialize_any(ReportVisitor)
}

fn once() -> u32 {
    1
}
