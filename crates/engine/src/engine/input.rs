//! Performs one request: converts it to an input of the core, with the facts that the decision
//! needs.

use adjutant_core::input::{Input, KeyedRequest, MessageFacts, TokenOwner};
use adjutant_core::protocols::aof::{AofEnvelope, IncomingText};
use adjutant_model::command::TaskFileContent;
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::request::{MessageOrigin, Request};
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{Answer, AnswerVerdict, Command, Effect, Reason, Status, TaskId};
use adjutant_store::frontmatter::FrontMatterParts;
use adjutant_store::{EffectId, Store, StoreError, taskfile};

use super::{CommitGroup, Engine, EngineAnswer, EngineRequest};
use crate::message_facts;

impl<S: Store> Engine<S> {
    /// Performs a request, and records its key in the same commit. A refused request, or one
    /// without effect, can be repeated without harm.
    pub(super) fn handle(
        &mut self,
        request: &EngineRequest,
        incoming: &IncomingText,
        group: &mut CommitGroup,
    ) -> Result<EngineAnswer, StoreError> {
        if let Some(answered) = self.find_repeated(request, group)? {
            return Ok(answered);
        }
        let answered = self.perform(request, incoming, group)?;
        if let Some(key) = &request.key
            && answered.answer.verdict == AnswerVerdict::Applied
        {
            let kept = KeyedRequest {
                key: key.clone(),
                about: answered.answer.task.clone(),
                events: answered.event_ids().collect(),
            };
            self.decide(&Input::RequestCompleted(kept), group);
        }
        Ok(answered)
    }

    fn perform(
        &mut self,
        request: &EngineRequest,
        incoming: &IncomingText,
        group: &mut CommitGroup,
    ) -> Result<EngineAnswer, StoreError> {
        let workspace = request.workspace.as_ref();
        let input = match &request.request {
            Request::Message { origin, text } => {
                return self.handle_message(origin, text, incoming, workspace, group);
            }
            Request::Tick { lives } => return Ok(self.tick_in(lives, group)?.answered),
            Request::Stories { by, told, facts } => {
                return self.follow_stories(by, told.as_ref(), facts, group);
            }
            Request::Notified { done, .. } if !self.settle_notice(*done, group) => {
                return Ok(Answer::plain(AnswerVerdict::Noop).into());
            }
            Request::Notified { notified, .. } => Input::NotificationEnded((**notified).clone()),
            Request::SessionEnd(task) => self.session_end_input(task.as_ref(), group)?,
            Request::RunExited { task, fence, exit, tail, telemetry } => {
                self.check_tasks(std::slice::from_ref(task), group)?;
                Input::RunExited {
                    task: task.clone(),
                    fence: *fence,
                    exit: exit.clone(),
                    tail: self.refusals.explain_tail(task, *fence, tail),
                    found: self.store.result(task)?,
                    telemetry: telemetry.clone(),
                    workspace: workspace.cloned(),
                    jitter: (self.rng)(),
                }
            }
            Request::WorkChecked { task, fence, evidence } => {
                self.check_tasks(std::slice::from_ref(task), group)?;
                let (task, evidence) = (task.clone(), evidence.clone());
                Input::WorkChecked { task, fence: *fence, evidence, jitter: (self.rng)() }
            }
            Request::WorkMerged { task, merged } => {
                self.check_tasks(std::slice::from_ref(task), group)?;
                Input::WorkMerged { task: task.clone(), merged: merged.clone() }
            }
            Request::WorkSaved { task, reference, commit } => {
                let (reference, commit) = (reference.clone(), commit.clone());
                Input::WorkSaved { task: task.clone(), reference, commit }
            }
            Request::Beat { task, fence } => Input::RunAlive { task: task.clone(), fence: *fence },
            Request::PermissionAsked { task, by, token, asked } => {
                self.check_tasks(std::slice::from_ref(task), group)?;
                let (by, token, asked) =
                    (by.clone(), self.verify_token(token, task), asked.clone());
                Input::PermissionAsked { task: task.clone(), by, token, asked }
            }
            Request::LifeSign { task, by, token } => {
                self.check_tasks(std::slice::from_ref(task), group)?;
                let token = self.verify_token(token, task);
                Input::ExternalHeartbeat { task: task.clone(), by: by.clone(), token }
            }
            Request::Refused(refused) => Input::AccessRefused(refused.clone()),
            Request::Command { by, command } => {
                self.check_tasks(&self.affected_tasks(command), group)?;
                Input::Command { by: by.clone(), command: self.with_store_facts(command)? }
            }
        };
        Ok(self.decide(&input, group))
    }

    /// Settles the effect of a notice. Returns false if its delivery was recorded before.
    fn settle_notice(&self, done: EffectId, group: &mut CommitGroup) -> bool {
        let is_pending = self.pending_effects().iter().any(|pending| pending.id == done)
            && !group.settled.contains(&done);
        if is_pending {
            group.settled.push(done);
        }
        is_pending
    }

    /// Adds to a command what it needs from the store.
    fn with_store_facts(&mut self, command: &Command) -> Result<Command, StoreError> {
        Ok(match command {
            Command::ApplySalvage { id, name, .. } => {
                let text = self.store.read_salvage(id, name)?;
                Command::ApplySalvage { id: id.clone(), name: name.clone(), text }
            }
            Command::Copy { id, start, .. } => {
                let document = self.store.document(id)?;
                let content = document.and_then(|text| read_file_content(&text, id));
                Command::Copy { id: id.clone(), start: *start, content: content.map(Box::new) }
            }
            Command::Take { agent, .. } => {
                let nonce = Some(RunNonce::from_random((self.rng)()));
                Command::Take { agent: agent.clone(), nonce }
            }
            other => other.clone(),
        })
    }

    /// Verifies a run token. Without a secret, no token was ever issued.
    fn verify_token(&self, token: &str, task: &TaskId) -> TokenOwner {
        let secret = self.secret.as_ref();
        secret.map_or(TokenOwner::Unknown, |s| s.verify(Some(token), std::slice::from_ref(task)))
    }

    /// Decides on a text that may be a message. If it came through a run's outbox, the same commit
    /// notes that it was taken.
    fn handle_message(
        &mut self,
        origin: &MessageOrigin,
        text: &[u8],
        incoming: &IncomingText,
        workspace: Option<&WorkspaceFacts>,
        group: &mut CommitGroup,
    ) -> Result<EngineAnswer, StoreError> {
        if let MessageOrigin::RunOutput { task, attempt, seq, refused: Some(refused), .. } = origin
        {
            let taken = Effect::NoteTaken { task: task.clone(), attempt: *attempt, seq: *seq };
            let input = Input::AccessRefused((**refused).clone());
            return Ok(self.decide_with_effect(&input, Some(taken), group));
        }
        let run = self.run_of_origin(origin);
        let mut facts = self.collect_facts(incoming, origin, run.clone(), workspace, group)?;
        facts.token_missing = is_token_missing(origin, incoming);
        if facts.token_missing {
            facts.token = run.clone().unwrap_or_default();
        }
        facts.earlier_messages = self.floods.count(run.as_ref().unwrap_or(&facts.token));
        let incoming = incoming.clone();
        let MessageOrigin::RunOutput { task, attempt, fence, seq, kind, .. } = origin else {
            return Ok(self.decide(&Input::Message { incoming, facts }, group));
        };
        if let (Some(kind), Some(run)) = (kind, run) {
            facts.token = run;
            facts.left_file = Some(message_facts::left_report(*kind, text));
        }
        let taken = Effect::NoteTaken { task: task.clone(), attempt: *attempt, seq: *seq };
        let input = Input::Message { incoming, facts };
        let answered = self.decide_with_effect(&input, Some(taken), group);
        if kind.is_some() || answered.answer.reason == Some(Reason::MissingToken) {
            self.refusals.record(task, *fence, &answered.answer);
        }
        Ok(answered)
    }

    /// Returns the run that a text came from, regardless of what the text claims.
    fn run_of_origin(&self, origin: &MessageOrigin) -> Option<TokenOwner> {
        match origin {
            MessageOrigin::Outside => None,
            MessageOrigin::InsideRun { task, token }
            | MessageOrigin::RunConnection { task, token } => Some(self.verify_token(token, task)),
            MessageOrigin::RunOutput { task, fence, nonce, .. } => {
                Some(TokenOwner::Run { task: task.clone(), fence: *fence, nonce: *nonce })
            }
        }
    }

    /// Checks the files of the tasks that a message is about, and collects the facts about it.
    fn collect_facts(
        &mut self,
        incoming: &IncomingText,
        origin: &MessageOrigin,
        run: Option<TokenOwner>,
        workspace: Option<&WorkspaceFacts>,
        group: &mut CommitGroup,
    ) -> Result<MessageFacts, StoreError> {
        let (mut facts, task) = match incoming {
            IncomingText::Document(received) => {
                let document = &received.document;
                let now = self.clock.now();
                let ids = message_facts::tasks_of_document(&self.world, document, now);
                self.check_tasks(&ids, group)?;
                // An edit of a file may have changed which task an id stands for.
                let ids = message_facts::tasks_of_document(&self.world, document, now);
                let token = self.message_token(received.run_token.as_deref(), &ids, run);
                let (store, world) = (&mut self.store, &self.world);
                let facts = message_facts::gather_document_facts(store, world, document, token)?;
                (facts, self.world.resolve(document.external_task_id()))
            }
            IncomingText::Message(envelope) => {
                let ids = message_facts::tasks_of_message(envelope);
                self.check_tasks(&ids, group)?;
                let run = self.run_of_message(envelope, origin, run);
                let token = self.message_token(envelope.run_token.as_deref(), &ids, run);
                let facts = message_facts::gather_message_facts(&mut self.store, envelope, token)?;
                (facts, Some(envelope.task.clone()))
            }
            IncomingText::Ignored | IncomingText::Refused(_) | IncomingText::Unknown { .. } => {
                // A text that is no valid message is still a heartbeat of its run.
                return Ok(MessageFacts {
                    token: run.unwrap_or_default(),
                    ..MessageFacts::default()
                });
            }
        };
        let task = task.and_then(|id| self.world.task(&id));
        facts.workspace = match workspace {
            Some(inspected) => Some(inspected.clone()),
            None => message_facts::find_missing_outputs(&mut self.store, task)?,
        };
        Ok(facts)
    }

    /// Verifies the token that a message shows. A run that speaks through its own output or
    /// connection need not show one; if it does, it must be its own.
    fn message_token(
        &self,
        shown: Option<&str>,
        ids: &[TaskId],
        run: Option<TokenOwner>,
    ) -> TokenOwner {
        let shown = match &self.secret {
            Some(secret) => secret.verify(shown, ids),
            None if shown.is_some() => TokenOwner::Unknown,
            None => TokenOwner::None,
        };
        match run {
            None => shown,
            Some(run) if shown == TokenOwner::None || shown == run => run,
            Some(_) => TokenOwner::Unknown,
        }
    }

    /// Returns the run that a message counts for, regardless of what it claims. A sender inside a
    /// run speaks as its agent: for its own task, and for tasks without a lease.
    fn run_of_message(
        &self,
        envelope: &AofEnvelope,
        origin: &MessageOrigin,
        run: Option<TokenOwner>,
    ) -> Option<TokenOwner> {
        let is_inside = match origin {
            MessageOrigin::InsideRun { .. } => true,
            MessageOrigin::RunOutput { from_socket, .. } => *from_socket,
            MessageOrigin::Outside | MessageOrigin::RunConnection { .. } => false,
        };
        let Some(TokenOwner::Run { task, fence, nonce }) = run.as_ref().filter(|_| is_inside)
        else {
            return run;
        };
        let beside = envelope.run_token.is_none() && envelope.task != *task;
        let free = self.world.task(&envelope.task).is_none_or(|other| other.lease().is_none());
        match self.world.task(task).and_then(|task| task.agent_of_run(*fence, *nonce)) {
            Some(agent) if beside && free && *agent == envelope.from => None,
            Some(_) if beside => Some(TokenOwner::Unknown),
            _ => run,
        }
    }

    fn session_end_input(
        &mut self,
        task: Option<&TaskId>,
        group: &mut CommitGroup,
    ) -> Result<Input, StoreError> {
        let of = |id: &TaskId| task.is_none_or(|task| task == id);
        let working = self.world.with_status(Status::InProgress).map(|task| task.id.clone());
        let ids: Vec<TaskId> = working.filter(|id| of(id)).collect();
        self.check_tasks(&ids, group)?;
        let mut found = Vec::new();
        // A result of work that this group started again is archived by its commit,
        // so it is skipped.
        for id in ids.into_iter().filter(|id| !group.has_restarted(id)) {
            found.extend(self.store.result(&id)?.map(|result| (id, result)));
        }
        Ok(Input::SessionEnd { found })
    }

    /// Returns the tasks a command affects; for a new task, the id it will get.
    fn affected_tasks(&self, command: &Command) -> Vec<TaskId> {
        match command {
            Command::Add(new) => {
                let linked = new.depends_on.iter().chain(&new.parent).cloned();
                linked.chain([self.world.next_id(self.clock.now())]).collect()
            }
            Command::Import(import) => {
                let items = import.tasks.iter().map(|item| &item.task);
                let linked = items.flat_map(|new| new.depends_on.iter().chain(&new.parent));
                let linked = linked.cloned();
                let created = self.world.next_ids(self.clock.now()).take(import.tasks.len());
                linked.chain(created).collect()
            }
            Command::Copy { id, .. } => vec![id.clone(), self.world.next_id(self.clock.now())],
            other => other.task().cloned().into_iter().collect(),
        }
    }
}

/// Returns whether a message needs the token of its run and does not have it.
fn is_token_missing(origin: &MessageOrigin, incoming: &IncomingText) -> bool {
    let token = match incoming {
        IncomingText::Message(envelope) => &envelope.run_token,
        IncomingText::Document(received) => &received.run_token,
        IncomingText::Ignored | IncomingText::Refused(_) | IncomingText::Unknown { .. } => {
            return false;
        }
    };
    matches!(origin, MessageOrigin::RunOutput { needs_token: true, .. }) && token.is_none()
}

/// Reads what only the file of a task has; `None` if the file is not a valid task.
fn read_file_content(text: &str, id: &TaskId) -> Option<TaskFileContent> {
    // The status does not matter: the content is the same in every folder.
    let parsed = taskfile::parse(text, Some(id), Some(Status::Ready)).ok()?;
    let parts = FrontMatterParts::split(text).ok()?;
    let body = taskfile::body_text(parts.body()).to_owned();
    Some(TaskFileContent { body, limits: parsed.limits })
}
