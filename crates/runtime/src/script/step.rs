//! What a script agent can do, one thing after the other.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::Span;

/// One thing that a script agent does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Takes time.
    Work(Span),
    /// Prints a line.
    Print(String),
    /// Prints a line on standard error.
    Complain(String),
    /// Says how far it is.
    Progress(String),
    /// Reports the outcome; a bare word is one with nothing else to say.
    Report(#[serde(deserialize_with = "word_or_whole")] Report),
    /// Says what came of its mission, as a result.
    Result(Told<MissionStatus>),
    /// Says what came of its `new_task`, as an `attempt_completion`.
    AttemptCompletion(Told<AttemptResult>),
    /// Hands a task on that is there already.
    Delegate(Delegate),
    /// Sends a message that is not its to send.
    Lie(Lie),
    /// Prints a great deal.
    Flood(Flood),
    /// Writes a file, from the working folder.
    Write(Write),
    /// Does nothing for ever.
    Hang,
    /// Ends with this code.
    Exit(u8),
    /// Ends by this signal.
    Die(i32),
    /// Lets requests to end pass from now on.
    IgnoreTerm,
    /// Closes standard input without reading it.
    CloseStdin,
    /// Reads standard input to the end and prints how many bytes there were.
    ReadStdin,
    /// Suspends itself until somebody wakes it.
    Suspend,
    /// Does other steps in a process of its own, and goes on at once.
    Fork(Fork),
    /// Runs this program with these arguments, as any agent can.
    Adjutant(Vec<String>),
}

/// A completion report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// How it went.
    pub outcome: Outcome,
    /// What there is to say about it.
    #[serde(default)]
    pub notes: String,
    /// What is in the way.
    #[serde(default)]
    pub blockers: Vec<String>,
    /// How often the report is sent.
    #[serde(default = "once")]
    pub times: u32,
}

/// A document that says what came of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told<S> {
    /// How it went.
    pub status: S,
    /// What there is to say about it.
    #[serde(default)]
    pub notes: String,
    /// The files it made.
    #[serde(default)]
    pub files: Vec<String>,
    /// What others should know who do the like; in a result.
    #[serde(default)]
    pub tips: Vec<String>,
    /// What it asks.
    #[serde(default)]
    pub questions: Vec<String>,
    /// What is in the way.
    #[serde(default)]
    pub blockers: Vec<String>,
    /// The task it speaks of, if not its own.
    #[serde(default)]
    pub task: Option<String>,
    /// How it is told.
    #[serde(default)]
    pub by: By,
}

/// How a document is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// In its file, all at once.
    #[default]
    File,
    /// In its file, one half, and after two seconds the other.
    Halves,
    /// In its file, one half.
    Half,
    /// In its file, which makes no sense.
    Nonsense,
    /// On standard output, as it is.
    Output,
    /// On standard output, in JSON on one line.
    Line,
    /// By `adjutant send`.
    Send,
}

/// How a mission went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissionStatus {
    /// All of it is done.
    Completed,
    /// It cannot be done.
    Failed,
    /// Something is in the way.
    Blocked,
}

/// How a `new_task` went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    /// All of it is done.
    Success,
    /// It cannot be done.
    Failure,
    /// There is something to ask.
    ClarificationNeeded,
    /// It contradicts something.
    ConflictDetected,
}

/// How the work went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All of it is done.
    Done,
    /// Some of it is done.
    Partial,
    /// Something is in the way.
    Blocked,
    /// Somebody must look at it.
    #[serde(alias = "needs_review")]
    NeedsReview,
}

/// A task that is handed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    /// The task that is handed on.
    pub task: String,
    /// To whom.
    pub to: String,
    /// What must hold in the end.
    #[serde(default)]
    pub criteria: Vec<String>,
}

/// A way to lie: a report of done that is not its to send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Lie {
    /// For this task, which is another's.
    Task(String),
    /// In the name of this agent.
    Agent(String),
    /// With this token, which is not its own.
    Token(String),
}

/// A great deal of output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// How many bytes.
    pub bytes: u64,
    /// What they are.
    #[serde(default)]
    pub of: Matter,
}

/// What a flood consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// Lines of text.
    #[default]
    Lines,
    /// Text without a line break.
    OneLine,
    /// Bytes that are no text.
    Binary,
    /// One message that never ends.
    Message,
}

/// A file and what goes into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Where.
    pub path: String,
    /// What.
    pub text: String,
}

/// Steps in a process of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fork {
    /// Whether it makes a session of its own, and leaves the group of whoever started it.
    #[serde(default)]
    pub session: bool,
    /// What it does.
    pub steps: Vec<Step>,
}

impl Report {
    /// Makes a report that says no more than how it went.
    fn of(outcome: Outcome) -> Self {
        Self { outcome, notes: String::new(), blockers: vec![], times: once() }
    }
}

/// Reads a report that is written as a word or as a whole, so that what is wrong in a whole one is
/// named.
fn word_or_whole<'de, D: Deserializer<'de>>(from: D) -> Result<Report, D::Error> {
    struct Form;
    impl<'de> Visitor<'de> for Form {
        type Value = Report;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an outcome, or a report with an `outcome`")
        }

        fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Report, E> {
            Outcome::deserialize(StrDeserializer::new(word)).map(Report::of)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Report, A::Error> {
            Report::deserialize(MapAccessDeserializer::new(map))
        }
    }
    from.deserialize_any(Form)
}

fn once() -> u32 {
    1
}
