//! What an executor claims: the words it left, and whether they are about the present attempt.

use super::{Reason, State, Status, Tests};

/// A paper that an executor may have left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// There is none, or nothing is in it.
    Nothing,
    /// It is the one that was there before the present executor was started.
    Old,
    /// It makes no sense.
    Broken(String),
    /// It says something.
    Paper(Paper),
}

/// The papers that an executor may have left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Papers {
    /// `executor-result`.
    pub result: Found,
    /// The hand-over that is the story's own; none where it has none.
    pub own: Option<Found>,
    /// `HANDOFF.md`, which all stories share.
    pub handoff: Found,
}

/// What a paper says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paper {
    /// The story it names.
    pub story: Option<String>,
    /// The step it names.
    pub step: Option<String>,
    /// The attempt it names.
    pub attempt: Option<String>,
    /// The rest of it.
    pub words: Words,
}

/// The words of an executor, as it wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words {
    /// How it went.
    pub status: Option<String>,
    /// Why not better.
    pub reason: Option<String>,
    /// What the tests came to.
    pub tests: Option<Tests>,
    /// What it changed.
    pub files_changed: Vec<String>,
}

/// What an executor claims about the present attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It left nothing.
    Missing,
    /// What it left makes no sense.
    Unreadable(String),
    /// What is there is about something else.
    Stale(String),
    /// It says this.
    Said(Words),
}

/// Whether other stories may have left the papers that are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// No other story is being worked on.
    None,
    /// Another story is being worked on too, so a paper must say whose it is.
    Running,
}

impl Claim {
    /// Finds the claim about the present attempt: `executor-result` before the story's own
    /// hand-over, and that before `HANDOFF.md`.
    ///
    /// Returns what is odd about the papers too.
    pub fn find(papers: &Papers, state: &State, others: Others) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let result = look(".ai/executor-result", &papers.result, state, others, &mut warnings);
        let own = match (&papers.own, &state.story) {
            (Some(own), Some(story)) => {
                let name = format!(".ai/handoffs/{story}.md");
                look(&name, own, state, Others::None, &mut warnings)
            }
            _ => Self::Missing,
        };
        if own != Self::Missing {
            return (choose(result, own), warnings);
        }
        if papers.own.is_some() && papers.is_handoff_of_another(state) {
            return (choose(result, own), warnings);
        }
        let handoff = look(".ai/HANDOFF.md", &papers.handoff, state, others, &mut warnings);
        (choose(result, handoff), warnings)
    }
}

impl Papers {
    /// Makes the papers of a story that has no hand-over of its own.
    pub fn shared(result: &Found, handoff: &Found) -> Self {
        Self { result: result.clone(), own: None, handoff: handoff.clone() }
    }

    /// Says whether the shared hand-over names another story: then it is that story's, and no news.
    fn is_handoff_of_another(&self, state: &State) -> bool {
        let Found::Paper(paper) = &self.handoff else { return false };
        let own = state.story.as_ref().map(crate::pipeline::StoryId::as_str);
        paper.story.is_some() && paper.story.as_deref() != own
    }
}

fn look(
    name: &str,
    found: &Found,
    state: &State,
    others: Others,
    warnings: &mut Vec<String>,
) -> Claim {
    match found {
        Found::Nothing => Claim::Missing,
        Found::Old => {
            warnings.push(format!("stale: {name} is the one that was there before"));
            Claim::Missing
        }
        Found::Broken(why) => {
            warnings.push(format!("{name} cannot be read: {why}"));
            Claim::Unreadable(format!("{name} cannot be read: {why}"))
        }
        Found::Paper(paper) => match misfit(paper, state, others) {
            Some(why) => {
                warnings.push(format!("stale: {name} {why}"));
                Claim::Stale(format!("{name} {why}"))
            }
            None => Claim::Said(paper.words.clone()),
        },
    }
}

/// Says what a paper is about, if it is not the present attempt.
fn misfit(paper: &Paper, state: &State, others: Others) -> Option<String> {
    let story = state.story.as_ref().map_or("", |story| story.as_str());
    let wrong =
        |named: &Option<String>, is: &str| named.as_deref().is_some_and(|named| named != is);
    if wrong(&paper.story, story) && !story.is_empty() {
        return Some(format!("is about the story {}", paper.story.as_deref().unwrap_or_default()));
    }
    if paper.story.is_none() && others == Others::Running {
        return Some("names no story, and several are being worked on".to_owned());
    }
    if wrong(&paper.step, state.step.as_str()) {
        return Some(format!("is about the step {}", paper.step.as_deref().unwrap_or_default()));
    }
    let attempt = paper.attempt.as_deref()?;
    (attempt.parse() != Ok(state.attempt)).then(|| format!("is about the attempt {attempt}"))
}

fn choose(result: Claim, handoff: Claim) -> Claim {
    match (result, handoff) {
        (Claim::Said(first), Claim::Said(second)) => Claim::Said(merge(first, second)),
        (Claim::Said(first), other) if first.status.is_none() && first.reason.is_none() => {
            match other {
                Claim::Missing => Claim::Said(first),
                other => other,
            }
        }
        (Claim::Said(first), _) => Claim::Said(first),
        (Claim::Missing | Claim::Unreadable(_) | Claim::Stale(_), Claim::Said(second)) => {
            Claim::Said(second)
        }
        (Claim::Missing, other) => other,
        (first @ (Claim::Unreadable(_) | Claim::Stale(_)), _) => first,
    }
}

/// What the first does not say, the second may.
fn merge(first: Words, second: Words) -> Words {
    let (status, reason) = match first.status {
        Some(status) => (Some(status), first.reason),
        None => (second.status, first.reason.or(second.reason)),
    };
    let files_changed =
        if first.files_changed.is_empty() { second.files_changed } else { first.files_changed };
    Words { status, reason, tests: first.tests.or(second.tests), files_changed }
}

impl Words {
    /// Reads the status: the three there are, the words people use for them, and everything else
    /// as failing.
    pub fn status(&self, warnings: &mut Vec<String>) -> Option<Status> {
        let said = self.status.as_deref()?;
        let status = match said {
            "pass" => return Some(Status::Pass),
            "failing" => return Some(Status::Failing),
            "needs_human" => return Some(Status::NeedsHuman),
            other => match other.to_lowercase().as_str() {
                "pass" | "passing" | "passed" | "done" | "complete" | "completed" => Status::Pass,
                "needs_human" | "needs-human" | "needs human" => Status::NeedsHuman,
                _ => Status::Failing,
            },
        };
        warnings.push(format!("the status {said:?} is taken as {status}"));
        Some(status)
    }

    /// Reads the reason; one that nobody knows is none.
    pub fn reason(&self, warnings: &mut Vec<String>) -> Option<Reason> {
        let said = self.reason.as_deref()?;
        if matches!(said, "" | "null" | "~") {
            return None;
        }
        let reason = Reason::parse(said);
        if reason.is_none() {
            let start: String = said.chars().take(80).collect();
            warnings.push(format!("the reason {start:?} is not known, and taken as none"));
        }
        reason
    }
}
