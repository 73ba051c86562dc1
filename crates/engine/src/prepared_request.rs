//! Makes requests ready for the engine: parses their texts and adds what the project's files say.
//!
//! The caller's thread does this, so that the engine's thread only decides and commits.

use adjutant_core::World;
use adjutant_core::protocols::aof::IncomingText;
use adjutant_core::protocols::dialect;
use adjutant_model::request::{EngineRequest, MessageOrigin, Request};
use adjutant_store::{par_map_cpu, yaml};

use crate::message_facts::parse_left_document;
use crate::request_inspector::{CompletionClaim, RequestInspector};
use crate::story_requests::{needs_story_facts, story_task};

/// A request with its text parsed.
#[derive(Debug, Clone)]
pub(crate) struct PreparedRequest {
    pub(crate) request: EngineRequest,
    /// The parsed text of a message; `Ignored` for a request without text.
    pub(crate) incoming: IncomingText,
}

/// Lets a caller look at the current world.
pub(crate) trait WorldReader {
    /// Calls `look` with the world. Returns None if the engine has stopped; the request itself then
    /// fails with that error.
    fn look_at_world<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Option<T>;
}

impl WorldReader for World {
    fn look_at_world<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Option<T> {
        Some(look(self))
    }
}

/// Prepares one request. Without an inspector, only its text is parsed.
pub(crate) fn prepare(
    request: EngineRequest,
    inspector: Option<&RequestInspector>,
    world: &impl WorldReader,
) -> PreparedRequest {
    let request = with_story_facts(request, inspector, world);
    let incoming = parse_text(&request);
    with_workspace_facts(PreparedRequest { request, incoming }, inspector, world)
}

/// Prepares several requests; the texts of many are parsed on all cores.
pub(crate) fn prepare_all(
    requests: Vec<EngineRequest>,
    inspector: Option<&RequestInspector>,
    world: &impl WorldReader,
) -> Vec<PreparedRequest> {
    let requests: Vec<EngineRequest> =
        requests.into_iter().map(|request| with_story_facts(request, inspector, world)).collect();
    let texts = parse_texts(&requests);
    let parsed = requests.into_iter().zip(texts);
    parsed
        .map(|(request, incoming)| PreparedRequest { request, incoming })
        .map(|prepared| with_workspace_facts(prepared, inspector, world))
        .collect()
}

/// Parses the texts of requests, on all cores if there are many.
pub(crate) fn parse_texts(requests: &[EngineRequest]) -> Vec<IncomingText> {
    par_map_cpu(requests, parse_text)
}

fn parse_text(request: &EngineRequest) -> IncomingText {
    match &request.request {
        Request::Message {
            origin: MessageOrigin::RunOutput { task, kind: Some(kind), flaw, .. },
            text,
        } => parse_left_document(*kind, text, flaw.as_deref(), task),
        // The text was not UTF-8, which is all that the flaw of such a message can be.
        Request::Message { origin: MessageOrigin::RunOutput { flaw: Some(_), .. }, text } => {
            dialect::read(&[text, &b"\xff"[..]].concat(), &yaml::read)
        }
        Request::Message { text, .. } => dialect::read(text, &yaml::read),
        _ => IncomingText::Ignored,
    }
}

/// Adds the state of the story files, and applies an operator's decision to these files.
fn with_story_facts(
    request: EngineRequest,
    inspector: Option<&RequestInspector>,
    world: &impl WorldReader,
) -> EngineRequest {
    let Some(inspector) = inspector.filter(|_| needs_story_facts(&request.request)) else {
        return request;
    };
    let find = |id: &_| {
        let id = Clone::clone(id);
        world.look_at_world(move |world| story_task(world, &id)).flatten()
    };
    EngineRequest { request: inspector.attach_story_facts(request.request, find), ..request }
}

/// Adds the facts from the workspace to a request that claims completion, unless it has them.
fn with_workspace_facts(
    mut prepared: PreparedRequest,
    inspector: Option<&RequestInspector>,
    world: &impl WorldReader,
) -> PreparedRequest {
    let PreparedRequest { request, incoming } = &mut prepared;
    if let Some(inspector) = inspector
        && request.workspace.is_none()
        && let Some(claim) = CompletionClaim::from_request(&request.request, incoming)
    {
        let planner = inspector.clone();
        let plan = world.look_at_world(move |world| planner.plan_inspection(&claim, world));
        request.workspace = plan.flatten().map(|plan| inspector.inspect_workspace(&plan));
    }
    prepared
}
