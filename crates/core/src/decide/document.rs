//! What a document of another dialect does: who sent it, and on to the rule of its kind.

use super::Decision;
use super::draft::Draft;
use super::{order, report};
use crate::answer::{Problem, Reason};
use crate::aof::Sent;
use crate::dialect::Document;
use crate::event::Event;
use crate::input::{Facts, Token};
use crate::name::{Actor, AgentId};
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

/// Who speaks where no run does.
const OPERATOR: &str = "operator";

/// Who speaks where a run does that nobody remembers.
const FORGOTTEN: &str = "an-older-run";

/// Who sent a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sender {
    /// As the record names it.
    pub(super) actor: Actor,
    /// As results name it.
    pub(super) agent: AgentId,
}

pub(super) fn decide(world: &World, sent: &Sent, facts: &Facts, now: Time) -> Decision {
    match &sent.document {
        Document::Mission(mission) => {
            order::create(world, sent, facts, now, &order::Wish::of_mission(mission))
        }
        Document::NewTask(task) => {
            order::create(world, sent, facts, now, &order::Wish::of_new_task(task))
        }
        Document::Result(_) | Document::AttemptCompletion(_) => {
            report::take(world, sent, facts, now)
        }
    }
}

impl Sender {
    /// Whoever runs the project: it came by no run.
    pub(super) fn operator() -> Self {
        let agent = AgentId::parse(OPERATOR).expect("a good name");
        Self { actor: Actor::human(OPERATOR), agent }
    }

    /// A run so old that nobody remembers whose it was.
    fn forgotten() -> Self {
        Self { actor: Actor::Router, agent: AgentId::parse(FORGOTTEN).expect("a good name") }
    }

    fn run(agent: &AgentId) -> Self {
        Self { actor: Actor::Agent(agent.clone()), agent: agent.clone() }
    }

    /// Names the run a document came by, be it over or not; without one, the operator.
    pub(super) fn of(world: &World, token: &Token) -> Self {
        let Token::Run { task, fence } = token else { return Self::operator() };
        let agent = world.task(task).and_then(|task| agent_of(task, *fence));
        agent.map_or_else(Self::forgotten, Self::run)
    }
}

fn agent_of(task: &Task, fence: u64) -> Option<&AgentId> {
    let leased = task.lease().filter(|lease| lease.fence == fence).map(|lease| &lease.agent);
    let last = task.last_run.as_ref().filter(|run| run.fence == fence).map(|run| &run.agent);
    let open = task.trials.open.as_ref().filter(|run| run.fence == fence).map(|run| &run.agent);
    leased.or(last).or(open)
}

/// Refuses a document with a path that leads outside by a link.
pub(super) fn escapes(facts: &Facts) -> Option<(Reason, Vec<Problem>)> {
    let escape = |path: &String| Problem::new(path, "leads outside its folder by a link");
    let problems: Vec<Problem> = facts.escapes.iter().map(escape).collect();
    (!problems.is_empty()).then_some((Reason::InvalidEnvelope, problems))
}

/// Writes down that a document came in, and what is odd about it.
pub(super) fn receive(draft: &mut Draft, sent: &Sent) {
    let id = sent.document.foreign_id().to_owned();
    draft.push(Event::DocumentReceived { kind: sent.document.kind(), id });
    for warning in &sent.warnings {
        draft.warn(Reason::OddDocument, warning.to_string());
    }
}
