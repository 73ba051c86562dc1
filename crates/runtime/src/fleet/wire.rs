//! A request on its way to the node that decides. Only nodes send these: what a run is and how it
//! ended is told by whoever looks after it.

use adjutant_core::account::{Told, Trouble, Usage};
use adjutant_core::constraints::WorkspaceFacts;
use adjutant_core::dialect::DocumentKind;
use adjutant_core::evidence::Evidence;
use adjutant_core::input::{self, Notified, Refused, StoryFacts};
use adjutant_core::notice;
use adjutant_core::pipeline::Position;
use adjutant_core::run::Exit;
use adjutant_core::work::Merged;
use adjutant_core::{Actor, AgentId, EventId, Reason, TaskId, Time};
use adjutant_store::EffectId;
use adjutant_store::wire::work::EvidenceWire;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::door::wire::{BadRequest, RequestWire as Plain};
use crate::engine::Request;

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum RequestWire {
    /// What anybody may ask for.
    Plain(Plain),
    Line {
        task: String,
        attempt: u32,
        fence: u64,
        seq: u64,
        text: String,
        kind: Option<String>,
        flaw: Option<String>,
    },
    FromRun {
        task: String,
        token: String,
        text: String,
    },
    Seen {
        workspace: WorkspaceWire,
        of: Box<RequestWire>,
    },
    RunExited {
        task: String,
        fence: u64,
        exit: String,
        tail: String,
        told: ToldWire,
    },
    Beat {
        task: String,
        fence: u64,
    },
    Keyed {
        key: String,
        digest: String,
        of: Box<RequestWire>,
    },
    Refused {
        by: String,
        task: Option<String>,
        reason: String,
        detail: String,
        count: u64,
    },
    Notified {
        done: (u64, u32),
        rule: String,
        target: String,
        kind: String,
        about: u64,
        task: Option<String>,
        tries: u32,
        given_up: Option<String>,
    },
    WorkChecked {
        task: String,
        fence: u64,
        evidence: EvidenceWire,
    },
    WorkMerged {
        task: String,
        merged: MergedWire,
    },
    WorkSaved {
        task: String,
        reference: String,
        commit: String,
    },
    Stories {
        by: String,
        told: Option<String>,
        facts: Vec<StoryWire>,
    },
}

/// What the files of a story say.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoryWire {
    /// As the metadata of its task has it.
    position: Map<String, Value>,
    title: Option<String>,
    agent: Option<String>,
    taken_up_at: Option<i64>,
}

/// What was seen in a workspace.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkspaceWire {
    files_changed: Vec<String>,
    commits: u32,
    manifests_changed: Vec<String>,
    outputs_missing: Vec<String>,
    unchecked: Option<String>,
}

/// What an agent told of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ToldWire {
    session: Option<String>,
    /// Input, output, cached, cost.
    usage: [u64; 4],
    #[serde(default)]
    warning: Option<String>,
    trouble: Option<TroubleWire>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum TroubleWire {
    Limited { until: Option<i64>, reason: String },
    Unusable { reason: String },
}

/// What came of a merge.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum MergedWire {
    Done { base: String, commit: String, evidence: EvidenceWire },
    Refused { reason: String, files: Vec<String> },
    Waits { reason: String },
}

impl TryFrom<&Request> for RequestWire {
    type Error = BadRequest;

    fn try_from(request: &Request) -> Result<Self, BadRequest> {
        let text = TaskId::to_string;
        Ok(match request.clone() {
            Request::Line { task, attempt, fence, seq, text: said, kind, flaw } => Self::Line {
                task: text(&task),
                attempt,
                fence,
                seq,
                text: said,
                kind: kind.map(|kind| kind.to_string()),
                flaw,
            },
            Request::FromRun { task, token, raw } => Self::FromRun {
                task: text(&task),
                token,
                text: String::from_utf8_lossy(&raw).into_owned(),
            },
            Request::Seen { workspace, of } => {
                Self::Seen { workspace: workspace.into(), of: Box::new((&*of).try_into()?) }
            }
            Request::RunExited { task, fence, exit, tail, told } => Self::RunExited {
                task: text(&task),
                fence,
                exit: exit.to_string(),
                tail,
                told: (*told).into(),
            },
            Request::Beat { task, fence } => Self::Beat { task: text(&task), fence },
            Request::Keyed { key, digest, of } => {
                Self::Keyed { key, digest, of: Box::new((&*of).try_into()?) }
            }
            Request::Refused(Refused { by, task, reason, detail, count }) => Self::Refused {
                by: by.to_string(),
                task: task.as_ref().map(text),
                reason: reason.to_string(),
                detail,
                count,
            },
            Request::Notified { done, notified } => {
                let Notified { rule, target, kind, about, task, tries, told } = *notified;
                Self::Notified {
                    done: (done.event.0, done.place),
                    rule,
                    target,
                    kind: kind.as_str().to_owned(),
                    about: about.0,
                    task: task.as_ref().map(text),
                    tries,
                    given_up: match told {
                        input::Told::Sent => None,
                        input::Told::GivenUp(why) => Some(why),
                    },
                }
            }
            Request::WorkChecked { task, fence, evidence } => {
                Self::WorkChecked { task: text(&task), fence, evidence: (&*evidence).into() }
            }
            Request::WorkMerged { task, merged } => {
                Self::WorkMerged { task: text(&task), merged: (*merged).into() }
            }
            Request::WorkSaved { task, reference, commit } => {
                Self::WorkSaved { task: text(&task), reference, commit }
            }
            Request::Stories { by, told, facts } => Self::Stories {
                by: by.to_string(),
                told: told.as_ref().map(text),
                facts: facts.into_iter().map(StoryWire::from).collect(),
            },
            other => Self::Plain((&other).try_into()?),
        })
    }
}

impl TryFrom<RequestWire> for Request {
    type Error = BadRequest;

    fn try_from(wire: RequestWire) -> Result<Self, BadRequest> {
        Ok(match wire {
            RequestWire::Plain(plain) => plain.try_into()?,
            RequestWire::Line { task, attempt, fence, seq, text, kind, flaw } => {
                let kind = kind.map(|kind| DocumentKind::parse(&kind).ok_or(BadRequest("kind")));
                let (task, kind) = (id(&task)?, kind.transpose()?);
                Self::Line { task, attempt, fence, seq, text, kind, flaw }
            }
            RequestWire::FromRun { task, token, text } => {
                Self::FromRun { task: id(&task)?, token, raw: text.into_bytes() }
            }
            RequestWire::Seen { workspace, of } => {
                Self::Seen { workspace: workspace.into(), of: Box::new((*of).try_into()?) }
            }
            RequestWire::RunExited { task, fence, exit, tail, told } => {
                let exit = Exit::parse(&exit).ok_or(BadRequest("exit"))?;
                Self::RunExited { task: id(&task)?, fence, exit, tail, told: Box::new(told.into()) }
            }
            RequestWire::Beat { task, fence } => Self::Beat { task: id(&task)?, fence },
            RequestWire::Keyed { key, digest, of } => {
                Self::Keyed { key, digest, of: Box::new((*of).try_into()?) }
            }
            RequestWire::Refused { by, task, reason, detail, count } => Self::Refused(Refused {
                by: Actor::parse(&by).ok_or(BadRequest("by"))?,
                task: task.as_deref().map(id).transpose()?,
                reason: Reason::parse(&reason).ok_or(BadRequest("reason"))?,
                detail,
                count,
            }),
            RequestWire::Notified { done, rule, target, kind, about, task, tries, given_up } => {
                let (event, place) = done;
                let notified = Notified {
                    rule,
                    target,
                    kind: notice::Kind::parse(&kind).ok_or(BadRequest("kind"))?,
                    about: EventId(about),
                    task: task.as_deref().map(id).transpose()?,
                    tries,
                    told: given_up.map_or(input::Told::Sent, input::Told::GivenUp),
                };
                let done = EffectId { event: EventId(event), place };
                Self::Notified { done, notified: Box::new(notified) }
            }
            RequestWire::WorkChecked { task, fence, evidence } => {
                let evidence = Box::new(found(evidence)?);
                Self::WorkChecked { task: id(&task)?, fence, evidence }
            }
            RequestWire::WorkMerged { task, merged } => {
                Self::WorkMerged { task: id(&task)?, merged: Box::new(merged.try_into()?) }
            }
            RequestWire::WorkSaved { task, reference, commit } => {
                Self::WorkSaved { task: id(&task)?, reference, commit }
            }
            RequestWire::Stories { by, told, facts } => Self::Stories {
                by: Actor::parse(&by).ok_or(BadRequest("by"))?,
                told: told.as_deref().map(id).transpose()?,
                facts: facts.into_iter().map(StoryFacts::try_from).collect::<Result<_, _>>()?,
            },
        })
    }
}

pub(super) fn id(text: &str) -> Result<TaskId, BadRequest> {
    TaskId::parse(text).map_err(|_| BadRequest("task"))
}

fn found(wire: EvidenceWire) -> Result<Evidence, BadRequest> {
    wire.try_into().map_err(|_| BadRequest("evidence"))
}

impl From<WorkspaceFacts> for WorkspaceWire {
    fn from(facts: WorkspaceFacts) -> Self {
        let WorkspaceFacts { files_changed, commits, manifests_changed, .. } = facts;
        let (outputs_missing, unchecked) = (facts.outputs_missing, facts.unchecked);
        Self { files_changed, commits, manifests_changed, outputs_missing, unchecked }
    }
}

impl From<WorkspaceWire> for WorkspaceFacts {
    fn from(wire: WorkspaceWire) -> Self {
        let WorkspaceWire { files_changed, commits, manifests_changed, .. } = wire;
        let (outputs_missing, unchecked) = (wire.outputs_missing, wire.unchecked);
        Self { files_changed, commits, manifests_changed, outputs_missing, unchecked }
    }
}

impl From<StoryFacts> for StoryWire {
    fn from(facts: StoryFacts) -> Self {
        Self {
            position: facts.position.object(),
            title: facts.title,
            agent: facts.agent.map(|agent| agent.to_string()),
            taken_up_at: facts.taken_up_at.map(Time::as_millis),
        }
    }
}

impl TryFrom<StoryWire> for StoryFacts {
    type Error = BadRequest;

    fn try_from(wire: StoryWire) -> Result<Self, BadRequest> {
        let agent = |name: String| AgentId::parse(&name).map_err(|_| BadRequest("agent"));
        Ok(Self {
            position: Position::read(&Value::Object(wire.position)).ok_or(BadRequest("story"))?,
            title: wire.title,
            agent: wire.agent.map(agent).transpose()?,
            taken_up_at: wire.taken_up_at.map(Time::from_millis),
        })
    }
}

impl From<Told> for ToldWire {
    fn from(told: Told) -> Self {
        let Usage { input, output, cached, cost } = told.usage;
        let trouble = told.trouble.map(|trouble| match trouble {
            Trouble::Limited { until, reason } => {
                TroubleWire::Limited { until: until.map(Time::as_millis), reason }
            }
            Trouble::Unusable { reason } => TroubleWire::Unusable { reason },
        });
        let usage = [input, output, cached, cost];
        Self { session: told.session, usage, warning: told.warning, trouble }
    }
}

impl From<ToldWire> for Told {
    fn from(wire: ToldWire) -> Self {
        let [input, output, cached, cost] = wire.usage;
        let trouble = wire.trouble.map(|trouble| match trouble {
            TroubleWire::Limited { until, reason } => {
                Trouble::Limited { until: until.map(Time::from_millis), reason }
            }
            TroubleWire::Unusable { reason } => Trouble::Unusable { reason },
        });
        let usage = Usage { input, output, cached, cost };
        Self { session: wire.session, usage, warning: wire.warning, trouble }
    }
}

impl From<Merged> for MergedWire {
    fn from(merged: Merged) -> Self {
        match merged {
            Merged::Done { base, commit, evidence } => {
                Self::Done { base, commit, evidence: (&evidence).into() }
            }
            Merged::Refused { reason, files } => Self::Refused { reason, files },
            Merged::Waits { reason } => Self::Waits { reason },
        }
    }
}

impl TryFrom<MergedWire> for Merged {
    type Error = BadRequest;

    fn try_from(wire: MergedWire) -> Result<Self, BadRequest> {
        Ok(match wire {
            MergedWire::Done { base, commit, evidence } => {
                Self::Done { base, commit, evidence: found(evidence)? }
            }
            MergedWire::Refused { reason, files } => Self::Refused { reason, files },
            MergedWire::Waits { reason } => Self::Waits { reason },
        })
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::command::Caller;
    use adjutant_core::evidence::{Changes, Check};
    use adjutant_core::{Command, Status};

    use super::*;

    fn task() -> TaskId {
        TaskId::parse("TASK-2026-02-09-001").expect("a good id")
    }

    fn evidence() -> Evidence {
        Evidence {
            branch: Some("adjutant/one".into()),
            commit: Some("c0ffee".into()),
            changes: Some(Changes { files: 1, insertions: 2, deletions: 3 }),
            checks: vec![Check {
                command: "make".into(),
                exit: Exit::Code(1),
                duration_ms: 7,
                tail: "no rule".into(),
                log: "check-1.log".into(),
            }],
            ..Evidence::default()
        }
    }

    fn story() -> StoryFacts {
        let position = serde_json::json!({
            "id": "US-005", "step": "impl", "attempt": 2, "maxAttempts": 5, "status": "running",
            "auto": true, "waitsFor": ["US-004"], "fence": 3, "lastError": "x", "node": "mini",
        });
        StoryFacts {
            position: Position::read(&position).expect("it makes sense"),
            title: Some("US-005 sums".into()),
            agent: Some(AgentId::parse("swe").expect("a good name")),
            taken_up_at: Some(Time::from_millis(7)),
        }
    }

    /// One of each that a node sends to another.
    fn requests() -> Vec<Request> {
        let by = Caller::Operator(Actor::human("alice"));
        let line = Request::Line {
            task: task(),
            attempt: 2,
            fence: 3,
            seq: 4,
            text: "AOF/1 {}".into(),
            kind: Some(DocumentKind::Result),
            flaw: Some("too long".into()),
        };
        let told = Told {
            session: Some("s".into()),
            usage: Usage { input: 1, output: 2, cached: 3, cost: 4 },
            trouble: Some(Trouble::Limited {
                until: Some(Time::from_millis(5)),
                reason: "limit".into(),
            }),
            warning: Some("untried".into()),
        };
        let unusable = Told {
            trouble: Some(Trouble::Unusable { reason: "no key".into() }),
            ..Told::default()
        };
        let exited = |exit: Exit, told: Told| Request::RunExited {
            task: task(),
            fence: 3,
            exit,
            tail: "last".into(),
            told: Box::new(told),
        };
        let merged =
            |merged: Merged| Request::WorkMerged { task: task(), merged: Box::new(merged) };
        let notified = |told: input::Told| Request::Notified {
            done: EffectId { event: EventId(9), place: 1 },
            notified: Box::new(Notified {
                rule: "ops".into(),
                target: "webhook".into(),
                kind: notice::Kind::Review,
                about: EventId(8),
                task: Some(task()),
                tries: 2,
                told,
            }),
        };
        vec![
            Request::Message(b"AOF/1 {}".to_vec()),
            Request::Message(vec![0xff, 0xfe]),
            Request::SessionEnd(Some(task())),
            Request::Command {
                by,
                command: Command::Move { id: task(), to: Status::Ready, reason: "again".into() },
            },
            line.clone(),
            Request::FromRun { task: task(), token: "3-ab".into(), raw: b"{}".to_vec() },
            Request::Seen {
                workspace: WorkspaceFacts {
                    files_changed: vec!["a".into()],
                    commits: 1,
                    manifests_changed: vec!["Cargo.toml".into()],
                    outputs_missing: vec!["out".into()],
                    unchecked: Some("no git".into()),
                },
                of: Box::new(line.clone()),
            },
            exited(Exit::Signal(9), told),
            exited(Exit::NotStarted("no such file: a".into()), unusable),
            Request::Beat { task: task(), fence: 3 },
            Request::Keyed { key: "k".into(), digest: "d".into(), of: Box::new(line) },
            Request::Refused(Refused {
                by: Actor::Router,
                task: Some(task()),
                reason: Reason::StaleRun,
                detail: "x".into(),
                count: 2,
            }),
            notified(input::Told::Sent),
            notified(input::Told::GivenUp("down".into())),
            Request::WorkChecked { task: task(), fence: 3, evidence: Box::new(evidence()) },
            merged(Merged::Done { base: "main".into(), commit: "c".into(), evidence: evidence() }),
            merged(Merged::Refused { reason: "conflict".into(), files: vec!["a".into()] }),
            merged(Merged::Waits { reason: "dirty".into() }),
            Request::WorkSaved { task: task(), reference: "refs/x".into(), commit: "c".into() },
            Request::Stories {
                by: Actor::human("alice"),
                told: Some(task()),
                facts: vec![story()],
            },
        ]
    }

    #[test]
    fn whatever_a_node_sends_arrives_as_it_was() {
        for request in requests() {
            let wire = RequestWire::try_from(&request).expect("it can be sent");
            let text = serde_json::to_string(&wire).expect("text always makes JSON");
            let wire: RequestWire = serde_json::from_str(&text).expect("it is read");
            let arrived = Request::try_from(wire).expect("it makes sense");
            assert_eq!(format!("{arrived:?}"), format!("{request:?}"), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_nothing_panics() {
        for bad in [
            r#"{"beat":{"task":"no","fence":1}}"#,
            r#"{"runExited":{"task":"TASK-2026-02-09-001","fence":1,"exit":"never","tail":"","told":{"usage":[0,0,0,0]}}}"#,
            r#"{"line":{"task":"TASK-2026-02-09-001","attempt":1,"fence":1,"seq":1,"text":"","kind":"poem"}}"#,
            r#"{"stories":{"by":"system","facts":[{"position":{"id":"US-005"}}]}}"#,
        ] {
            let wire: RequestWire = serde_json::from_str(bad).expect("it has the form");
            assert!(Request::try_from(wire).is_err(), "{bad}");
        }
    }
}
