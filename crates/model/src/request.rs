//! Requests to the engine, from commands, agents, the daemon and the nodes of a fleet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::actor::{Actor, AgentId};
use crate::answer::{Answer, Reason};
use crate::command::{Command, CommandCaller};
use crate::constraints::WorkspaceFacts;
use crate::content;
use crate::document::DocumentKind;
use crate::effect::{EffectId, PendingEffect};
use crate::event::RecordedEvent;
use crate::event_id::EventId;
use crate::evidence::WorkEvidence;
use crate::notice::NoticeKind;
use crate::permission::PermissionChoice;
use crate::run::{RunExit, RunLiveness};
use crate::run_nonce::RunNonce;
use crate::story::StoryPosition;
use crate::task_id::TaskId;
use crate::time::Time;
use crate::usage::AgentTelemetry;
use crate::work::MergeResult;

/// A request to the engine, with what was added on its way there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineRequest {
    pub request: Request,
    /// The commit that applies the request also keeps this key, so that a repeat is recognised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
    /// The workspace of the run that claims to be done; `None` if it was not inspected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceFacts>,
}

/// Marks a request that must not be applied twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyKey {
    /// A digest of the caller's key.
    pub key: String,
    /// A digest of the request, to detect another request with the same key.
    pub digest: String,
    /// Whether the caller has sent the request before and got no answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_repeat: bool,
}

/// What the keys that a client of the daemon's socket makes begin with. The keys of HTTP calls have
/// no prefix, so that no process can take one of those.
const CLIENT_KEY: &str = "client-";

impl IdempotencyKey {
    /// Makes the key of one request from random numbers. No other has it, so it needs no digest.
    pub fn from_random(random: [u64; 2]) -> Self {
        let [high, low] = random;
        let key = format!("{CLIENT_KEY}{high:016x}{low:016x}");
        Self { key, digest: String::new(), is_repeat: false }
    }

    /// Returns whether a client of the daemon's socket may have made the key.
    fn is_from_client(&self) -> bool {
        let is_hex = |digits: &str| {
            digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        self.digest.is_empty() && self.key.strip_prefix(CLIENT_KEY).is_some_and(is_hex)
    }
}

/// What the engine is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Request {
    /// A text that may be a message.
    Message {
        origin: MessageOrigin,
        #[serde(with = "content")]
        text: Vec<u8>,
    },
    /// The session of one task ended; `None` if all sessions did.
    SessionEnd(Option<TaskId>),
    RunExited {
        task: TaskId,
        fence: u64,
        exit: RunExit,
        /// The last lines of output.
        tail: String,
        telemetry: Box<AgentTelemetry>,
    },
    /// A run of this node is alive.
    Beat {
        task: TaskId,
        fence: u64,
    },
    /// A heartbeat of a run that Adjutant did not start.
    LifeSign {
        task: TaskId,
        /// The agent it claims to be.
        by: Actor,
        /// Proves that it comes from the run.
        token: String,
    },
    /// A run asks for a permission that its configuration leaves to a person.
    PermissionAsked {
        task: TaskId,
        /// The agent it claims to be.
        by: Actor,
        /// Proves that it comes from the run.
        token: String,
        asked: AskedPermission,
    },
    /// Runs the scheduler. It is the engine's own and is never sent.
    #[serde(skip)]
    Tick {
        /// Which runs are alive. Of a run that is not listed, only its heartbeat counts.
        lives: BTreeMap<TaskId, RunLiveness>,
    },
    Refused(RefusedAccess),
    /// A notice was delivered or given up; the same commit settles its effect.
    Notified {
        done: EffectId,
        notified: Box<NoticeDelivery>,
    },
    /// The project's story files changed, and their tasks must follow.
    Stories {
        by: Actor,
        /// The task that an operator's command is about; `None` if no command caused the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<TaskId>,
        /// The content of the files; added by the process that can read them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        facts: Vec<StoryFacts>,
    },
    /// The work of a run was verified.
    WorkChecked {
        task: TaskId,
        fence: u64,
        evidence: Box<WorkEvidence>,
    },
    /// A merge ended.
    WorkMerged {
        task: TaskId,
        merged: Box<MergeResult>,
    },
    /// Uncommitted work in a workspace was saved as a commit.
    WorkSaved {
        task: TaskId,
        reference: String,
        commit: String,
    },
    Command {
        by: CommandCaller,
        command: Command,
    },
}

/// Where a text came from. Only a text from outside speaks for the sender that it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MessageOrigin {
    Outside,
    /// A process inside the run of this token. Its agent may also speak about other tasks.
    InsideRun {
        task: TaskId,
        token: String,
    },
    /// A connection that a run opened with its token. The text speaks for that run only.
    RunConnection {
        task: TaskId,
        token: String,
    },
    /// The outbox of a run. The text speaks for that run only, and the commit that applies it also
    /// notes that it was taken, so that it is not applied twice.
    RunOutput {
        task: TaskId,
        attempt: u32,
        fence: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<RunNonce>,
        /// The number of the message in the run.
        seq: u64,
        /// The kind of document, if the run left it as one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<DocumentKind>,
        /// A problem that the text itself does not show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flaw: Option<String>,
        /// Whether the text counts only if it has the token of the run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        needs_token: bool,
        /// Whether the text came through the run's socket: its sender waits for the answer, and the
        /// agent of the run may also speak about other tasks.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        from_socket: bool,
        /// A request that the shim of the run refused; there is no text then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<Box<RefusedAccess>>,
    },
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineAnswer {
    #[serde(flatten)]
    pub answer: Answer,
    pub events: Vec<RecordedEvent>,
    /// The effects that the request requires; the process that committed them performs them.
    #[serde(skip)]
    pub effects: Vec<PendingEffect>,
}

/// A permission that a run asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskedPermission {
    /// The number of the request in the run, from 1.
    pub number: u32,
    /// The action that the agent wants to perform.
    pub text: String,
    pub choices: Vec<PermissionChoice>,
}

/// A caller that was not authenticated, or lacked the right for its request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedAccess {
    /// The caller, as far as it is known.
    pub by: Actor,
    /// The task that the request was about.
    pub task: Option<TaskId>,
    pub reason: Reason,
    /// The refused request.
    pub detail: String,
    /// The number of refusals that this one stands for.
    pub count: u64,
}

/// The result of delivering a notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoticeDelivery {
    pub rule: String,
    /// The kind of the rule's target.
    pub target: String,
    pub kind: NoticeKind,
    /// The event that the notice reports.
    pub about: EventId,
    pub task: Option<TaskId>,
    pub tries: u32,
    pub result: DeliveryResult,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeliveryResult {
    Sent,
    /// The notice was not delivered and will not be, for this reason.
    GivenUp(String),
}

/// The content of a project's files about one story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoryFacts {
    pub position: StoryPosition,
    /// `None` if the story's scenarios have no title.
    pub title: Option<String>,
    /// The agent for all steps of the story; `None` if the files name no agent.
    pub agent: Option<AgentId>,
    /// When an operator last started or reopened the story, or made it automatic.
    pub taken_up_at: Option<Time>,
}

impl EngineRequest {
    /// Asks for a command of this caller.
    pub fn command(by: CommandCaller, command: Command) -> Self {
        Request::Command { by, command }.into()
    }

    /// Passes on a text from outside all runs.
    pub fn message(text: impl Into<Vec<u8>>) -> Self {
        Request::Message { origin: MessageOrigin::Outside, text: text.into() }.into()
    }

    /// Returns whether any process that can reach the daemon's socket may send the request. The
    /// other requests are the daemon's own: they report on runs, work and notices.
    pub fn is_public(&self) -> bool {
        let has_public_key = |key: &IdempotencyKey| self.is_repeatable() && key.is_from_client();
        self.key.as_ref().is_none_or(has_public_key)
            && self.workspace.is_none()
            && self.request.is_public()
    }

    /// Returns whether a client sends the request again if it got no answer.
    pub fn is_repeatable(&self) -> bool {
        matches!(self.request, Request::Message { .. } | Request::LifeSign { .. })
    }
}

impl From<Request> for EngineRequest {
    fn from(request: Request) -> Self {
        Self { request, key: None, workspace: None }
    }
}

impl Request {
    fn is_public(&self) -> bool {
        match self {
            Self::Message { origin, .. } => {
                matches!(origin, MessageOrigin::Outside | MessageOrigin::InsideRun { .. })
            }
            Self::SessionEnd(_)
            | Self::LifeSign { .. }
            | Self::PermissionAsked { .. }
            | Self::Command { .. } => true,
            // The daemon reads the story files itself.
            Self::Stories { told, facts, .. } => told.is_none() && facts.is_empty(),
            Self::RunExited { .. }
            | Self::Beat { .. }
            | Self::Tick { .. }
            | Self::Refused(_)
            | Self::Notified { .. }
            | Self::WorkChecked { .. }
            | Self::WorkMerged { .. }
            | Self::WorkSaved { .. } => false,
        }
    }
}

impl From<Answer> for EngineAnswer {
    fn from(answer: Answer) -> Self {
        Self { answer, events: vec![], effects: vec![] }
    }
}

impl EngineAnswer {
    pub fn event_ids(&self) -> impl Iterator<Item = EventId> {
        self.events.iter().map(|event| event.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{CheckResult, DiffStat};
    use crate::status::Status;
    use crate::usage::{AgentTrouble, TokenUsage};

    fn task() -> TaskId {
        TaskId::parse("TASK-2026-02-09-001").expect("a good id")
    }

    fn evidence() -> WorkEvidence {
        WorkEvidence {
            branch: Some("adjutant/one".into()),
            commit: Some("c0ffee".into()),
            changes: Some(DiffStat { files: 1, insertions: 2, deletions: 3 }),
            checks: vec![CheckResult {
                command: "make".into(),
                exit: RunExit::Code(1),
                duration_ms: 7,
                tail: "no rule".into(),
                log: "check-1.log".into(),
            }],
            ..WorkEvidence::default()
        }
    }

    fn story() -> StoryFacts {
        let position = serde_json::json!({
            "id": "US-005", "step": "impl", "attempt": 2, "maxAttempts": 5, "status": "running",
            "auto": true, "waitsFor": ["US-004"], "fence": 3, "lastError": "x", "node": "mini",
        });
        StoryFacts {
            position: serde_json::from_value(position).expect("it makes sense"),
            title: Some("US-005 sums".into()),
            agent: Some(AgentId::parse("swe").expect("a good name")),
            taken_up_at: Some(Time::from_millis(7)),
        }
    }

    fn run_output() -> MessageOrigin {
        MessageOrigin::RunOutput {
            nonce: None,
            task: task(),
            attempt: 2,
            fence: 3,
            seq: 4,
            kind: Some(DocumentKind::Result),
            flaw: Some("too long".into()),
            needs_token: true,
            from_socket: true,
            refused: None,
        }
    }

    /// One of each request that a node sends to another.
    fn requests() -> Vec<EngineRequest> {
        let by = CommandCaller::Operator(Actor::human("alice"));
        let line = Request::Message { origin: run_output(), text: b"AOF/1 {}".to_vec() };
        let connection = MessageOrigin::RunConnection { task: task(), token: "3-ab".into() };
        let limited = AgentTelemetry {
            session: Some("s".into()),
            usage: TokenUsage { input: 1, output: 2, cached: 3, cost: 4 },
            trouble: Some(AgentTrouble::Limited {
                until: Some(Time::from_millis(5)),
                reason: "limit".into(),
            }),
            warning: Some("untried".into()),
            refused_hosts: vec![],
        };
        let unusable = AgentTelemetry {
            trouble: Some(AgentTrouble::Unusable { reason: "no key".into() }),
            ..AgentTelemetry::default()
        };
        let exited = |exit: RunExit, telemetry: AgentTelemetry| Request::RunExited {
            task: task(),
            fence: 3,
            exit,
            tail: "last".into(),
            telemetry: Box::new(telemetry),
        };
        let merged =
            |merged: MergeResult| Request::WorkMerged { task: task(), merged: Box::new(merged) };
        let notified = |result: DeliveryResult| Request::Notified {
            done: EffectId { event: EventId(9), place: 1 },
            notified: Box::new(NoticeDelivery {
                rule: "ops".into(),
                target: "webhook".into(),
                kind: NoticeKind::Review,
                about: EventId(8),
                task: Some(task()),
                tries: 2,
                result,
            }),
        };
        let workspace = WorkspaceFacts {
            files_changed: vec!["a".into()],
            commits: 1,
            manifests_changed: vec!["Cargo.toml".into()],
            outputs_missing: vec!["out".into()],
            unverified_reason: Some("no git".into()),
        };
        let key = IdempotencyKey { key: "k".into(), digest: "d".into(), is_repeat: false };
        let mut all = vec![
            EngineRequest::message("AOF/1 {}"),
            EngineRequest::message([0xff, 0xfe]),
            EngineRequest { workspace: Some(workspace), ..line.clone().into() },
            EngineRequest { key: Some(key), ..line.clone().into() },
        ];
        let plain = [
            Request::SessionEnd(Some(task())),
            Request::Command {
                by,
                command: Command::Move { id: task(), to: Status::Ready, reason: "again".into() },
            },
            line,
            Request::Message { origin: connection, text: b"{}".to_vec() },
            exited(RunExit::Signal(9), limited),
            exited(RunExit::NotStarted("no such file: a".into()), unusable),
            Request::Beat { task: task(), fence: 3 },
            Request::Refused(RefusedAccess {
                by: Actor::Router,
                task: Some(task()),
                reason: Reason::StaleRun,
                detail: "x".into(),
                count: 2,
            }),
            notified(DeliveryResult::Sent),
            notified(DeliveryResult::GivenUp("down".into())),
            Request::WorkChecked { task: task(), fence: 3, evidence: Box::new(evidence()) },
            merged(MergeResult::Done {
                base: "main".into(),
                commit: "c".into(),
                evidence: evidence(),
            }),
            merged(MergeResult::Refused { reason: "conflict".into(), files: vec!["a".into()] }),
            merged(MergeResult::Waits { reason: "dirty".into() }),
            Request::WorkSaved { task: task(), reference: "refs/x".into(), commit: "c".into() },
            Request::Stories {
                by: Actor::human("alice"),
                told: Some(task()),
                facts: vec![story()],
            },
        ];
        all.extend(plain.into_iter().map(EngineRequest::from));
        all
    }

    #[test]
    fn request_arrives_as_it_was_sent() {
        for request in requests() {
            let text = serde_json::to_string(&request).expect("it can be sent");
            let arrived: EngineRequest = serde_json::from_str(&text).expect("it is read");
            assert_eq!(arrived, request, "{text}");
        }
    }

    #[test]
    fn request_that_makes_no_sense_is_refused() {
        for bad in [
            r#"{"beat":{"task":"no","fence":1}}"#,
            r#"{"runExited":{"task":"TASK-2026-02-09-001","fence":1,"exit":"never","tail":"","telemetry":{"usage":{}}}}"#,
            r#"{"message":{"origin":{"runOutput":{"task":"TASK-2026-02-09-001","attempt":1,"fence":1,"seq":1,"kind":"poem"}},"text":""}}"#,
            r#"{"stories":{"by":"system","facts":[{"position":{"id":"US-005"}}]}}"#,
            r#"{"tick":{"lives":{}}}"#,
            r#"{"command":{"by":{"operator":"human:a"},"command":{"add":{"title":"x"}}}}"#,
            r#"{"command":{"by":{"operator":"human:a"},"command":{"edit":{"id":"TASK-2026-02-09-001","changes":{"reviewRequired":false}}}}}"#,
        ] {
            assert!(serde_json::from_str::<Request>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn request_of_older_version_is_refused() {
        for old in [
            r#"{"message":"AOF/1 {}"}"#,
            r#"{"sessionEnd":null}"#,
            r#"{"command":{"by":{"operator":"human:a"},"command":{"retry":{"id":"TASK-2026-02-09-001"}}}}"#,
        ] {
            let refusal = serde_json::from_str::<EngineRequest>(old).expect_err(old).to_string();
            assert!(refusal.starts_with("missing field `request`"), "{refusal}");
        }
    }

    #[test]
    fn request_key_of_client_is_public_for_messages_and_heartbeats_only() {
        let key = IdempotencyKey::from_random([1, u64::MAX]);
        let with_key = |request: Request, key: &IdempotencyKey| EngineRequest {
            key: Some(key.clone()),
            ..request.into()
        };
        let message = || EngineRequest::message("AOF/1 {}").request;
        let beat = Request::LifeSign { task: task(), by: Actor::System, token: String::new() };
        assert!(with_key(message(), &key).is_public() && with_key(beat, &key).is_public());
        assert!(!with_key(Request::SessionEnd(None), &key).is_public());
        let of_http = key.key.trim_start_matches(CLIENT_KEY).to_owned();
        for other in [of_http, format!("{CLIENT_KEY}1"), format!("{}0", key.key)] {
            let key = IdempotencyKey { key: other, ..key.clone() };
            assert!(!with_key(message(), &key).is_public(), "{key:?}");
        }
    }

    #[test]
    fn request_of_daemon_is_not_public() {
        let public = requests().into_iter().filter(EngineRequest::is_public).count();
        assert_eq!(public, 4, "two messages, a session end and a command");
    }
}
