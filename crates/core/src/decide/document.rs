//! Decides what a document of another dialect does: identifies the sender, then calls the handler
//! of the document's kind.

use adjutant_model::actor::{Actor, AgentId};
use adjutant_model::answer::{FieldProblem, Reason};
use adjutant_model::document::ProtocolDocument;
use adjutant_model::event::{Event, ReceivedMessage};
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::task::Task;
use adjutant_model::time::Time;

use super::draft::DecisionDraft;
use super::{create_task, document_report};
use crate::decision::Decision;
use crate::input::{MessageFacts, TokenOwner};
use crate::protocols::aof::ReceivedDocument;
use crate::world::World;

/// The sender of a document that no known run sent.
const OPERATOR: &str = "operator";

/// The sender of a document whose run is too old to be remembered.
const FORGOTTEN_RUN: &str = "an-older-run";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentSender {
    pub(super) actor: Actor,
    pub(super) agent: AgentId,
}

pub(super) fn decide(
    world: &World,
    sent: &ReceivedDocument,
    facts: &MessageFacts,
    now: Time,
) -> Decision {
    match &sent.document {
        ProtocolDocument::Mission(mission) => create_task::create(
            world,
            sent,
            facts,
            now,
            &create_task::RequestedTask::from_mission(mission),
        ),
        ProtocolDocument::NewTask(task) => create_task::create(
            world,
            sent,
            facts,
            now,
            &create_task::RequestedTask::from_new_task(task),
        ),
        ProtocolDocument::Result(_) | ProtocolDocument::AttemptCompletion(_) => {
            document_report::apply_report(world, sent, facts, now)
        }
    }
}

impl DocumentSender {
    pub(super) fn from_operator() -> Self {
        let agent = AgentId::parse(OPERATOR).expect("a good name");
        Self { actor: Actor::human(OPERATOR), agent }
    }

    fn from_forgotten_run() -> Self {
        Self { actor: Actor::Router, agent: AgentId::parse(FORGOTTEN_RUN).expect("a good name") }
    }

    fn from_agent(agent: &AgentId) -> Self {
        Self { actor: Actor::Agent(agent.clone()), agent: agent.clone() }
    }

    /// Returns the agent of the run that sent the document, even if the run is over. Without a run,
    /// the operator is the sender.
    pub(super) fn from_token(world: &World, token: &TokenOwner) -> Self {
        let TokenOwner::Run { task, fence, nonce } = token else { return Self::from_operator() };
        let agent = world.task(task).and_then(|task| agent_of(task, *fence, *nonce));
        agent.map_or_else(Self::from_forgotten_run, Self::from_agent)
    }
}

fn agent_of(task: &Task, fence: u64, nonce: Option<RunNonce>) -> Option<&AgentId> {
    let open = task.history.open.as_ref().filter(|run| run.is_of(fence, nonce));
    task.agent_of_run(fence, nonce).or(open.map(|run| &run.agent))
}

/// Returns a refusal if a path in the document leads outside its folder through a symbolic link.
pub(super) fn refuse_escaping_paths(facts: &MessageFacts) -> Option<(Reason, Vec<FieldProblem>)> {
    let what = "leads outside its folder through a symbolic link";
    let escape = |path: &String| FieldProblem::new(path, what);
    let problems: Vec<FieldProblem> = facts.escaping_paths.iter().map(escape).collect();
    (!problems.is_empty()).then_some((Reason::InvalidEnvelope, problems))
}

/// Records the document and its warnings.
pub(super) fn record_document(draft: &mut DecisionDraft, sent: &ReceivedDocument) {
    let id = sent.document.external_task_id().to_owned();
    draft
        .push(Event::MessageReceived(ReceivedMessage::Document { kind: sent.document.kind(), id }));
    for warning in &sent.warnings {
        draft.warn(Reason::OddDocument, warning.to_string());
    }
}
