//! Turns requests into inputs: with each goes what a decision on it needs to know.

use adjutant_core::aof::{Envelope, Incoming};
use adjutant_core::dialect;
use adjutant_core::input::{Input, Token};
use adjutant_core::{AgentId, Command, Status, TaskId};
use adjutant_store::{Store, StoreError, side_by_side, yaml};

use super::{Engine, Group, Request};
use crate::{facts, tick};

impl<S: Store> Engine<S> {
    /// Turns a request into an input, with what a decision on it needs to know.
    pub(super) fn input(
        &mut self,
        request: &Request,
        group: &mut Group,
    ) -> Result<Input, StoreError> {
        Ok(match request {
            Request::Message(raw) => {
                let incoming = group.incoming.take().unwrap_or_else(|| read(raw));
                self.incoming(incoming, &Whose::Nobodys, group)?
            }
            Request::Line { task, fence, text, kind, flaw, .. } => {
                let run = Token::Run { task: task.clone(), fence: *fence };
                let by = &Whose::Run(run.clone());
                let Some(kind) = *kind else {
                    return self.message(text.as_bytes(), by, group);
                };
                let incoming = facts::left(kind, text, flaw.as_deref(), task);
                let mut input = self.incoming(incoming, by, group)?;
                if let Input::Message { facts, .. } = &mut input {
                    facts.token = run;
                    facts.left = Some(facts::keep(kind, text));
                }
                input
            }
            Request::Inside { task, token, raw } => {
                let by = self.judge(token, task);
                self.message(raw, &Whose::Shown(by), group)?
            }
            Request::FromRun { task, token, raw } => {
                let by = self.judge(token, task);
                self.message(raw, &Whose::Run(by), group)?
            }
            Request::SessionEnd(task) => self.session_end(task.as_ref(), group)?,
            Request::RunExited { task, fence, exit, tail, told } => {
                self.look_at(std::slice::from_ref(task), group)?;
                Input::RunExited {
                    task: task.clone(),
                    fence: *fence,
                    exit: exit.clone(),
                    tail: self.refusals.told(task, *fence, tail),
                    found: self.store.result(task)?,
                    told: told.clone(),
                    workspace: None,
                    jitter: (self.chance)(),
                }
            }
            Request::WorkChecked { task, fence, evidence } => {
                self.look_at(std::slice::from_ref(task), group)?;
                let (task, evidence) = (task.clone(), evidence.clone());
                Input::WorkChecked { task, fence: *fence, evidence, jitter: (self.chance)() }
            }
            Request::WorkMerged { task, merged } => {
                self.look_at(std::slice::from_ref(task), group)?;
                Input::WorkMerged { task: task.clone(), merged: merged.clone() }
            }
            Request::WorkSaved { task, reference, commit } => {
                let (reference, commit) = (reference.clone(), commit.clone());
                Input::WorkSaved { task: task.clone(), reference, commit }
            }
            Request::Beat { task, fence } => Input::Beat { task: task.clone(), fence: *fence },
            Request::PermissionAsked { task, by, token, asked } => {
                self.look_at(std::slice::from_ref(task), group)?;
                let (by, token, asked) = (by.clone(), self.judge(token, task), asked.clone());
                Input::PermissionAsked { task: task.clone(), by, token, asked }
            }
            Request::LifeSign { task, by, token } => {
                self.look_at(std::slice::from_ref(task), group)?;
                let token = self.judge(token, task);
                Input::LifeSign { task: task.clone(), by: by.clone(), token }
            }
            Request::Seen { of, .. } | Request::Keyed { of, .. } => self.input(of, group)?,
            Request::Refused(refused) => Input::Refused(refused.clone()),
            Request::Notified { notified, .. } => Input::Notified((**notified).clone()),
            // Each of these becomes an input for every story, and is no input itself.
            Request::Stories { .. } => Input::SessionEnd { found: vec![] },
            Request::Tick { lives } => {
                let jitter = (self.chance)();
                let now = self.clock.now();
                let facts = tick::gather(&mut self.store, &self.world, lives, jitter, now)?;
                Input::Tick { facts }
            }
            Request::Command { by, command } => {
                self.look_at(&self.concerned(command), group)?;
                Input::Command { by: by.clone(), command: self.informed(command)? }
            }
        })
    }

    /// Adds to a command what it needs to know from the store.
    fn informed(&mut self, command: &Command) -> Result<Command, StoreError> {
        Ok(match command {
            Command::ApplySalvage { id, name, .. } => {
                let text = self.store.salvage(id, name)?;
                Command::ApplySalvage { id: id.clone(), name: name.clone(), text }
            }
            other => other.clone(),
        })
    }

    /// Says what a token is worth that a command was called with. Without a secret, none was ever
    /// given out.
    fn judge(&self, token: &str, task: &TaskId) -> Token {
        let secret = self.secret.as_ref();
        secret.map_or(Token::Unknown, |s| s.judge(Some(token), std::slice::from_ref(task)))
    }

    fn message(&mut self, raw: &[u8], by: &Whose, group: &mut Group) -> Result<Input, StoreError> {
        self.incoming(read(raw), by, group)
    }

    fn incoming(
        &mut self,
        incoming: Incoming,
        by: &Whose,
        group: &mut Group,
    ) -> Result<Input, StoreError> {
        let mut facts = match &incoming {
            Incoming::Document(sent) => {
                let ids = facts::tasks_of(&self.world, &sent.document, self.clock.now());
                self.look_at(&ids, group)?;
                let ids = facts::tasks_of(&self.world, &sent.document, self.clock.now());
                let token = facts::token_of(sent, by.run(), &ids, self.secret.as_ref());
                facts::gather_of(&mut self.store, &self.world, &sent.document, token)?
            }
            Incoming::Message(envelope) => {
                self.look_at(&facts::tasks(envelope), group)?;
                let by = self.of_message(envelope, by);
                let token = facts::token(envelope, by, self.secret.as_ref());
                let mut found = facts::gather(&mut self.store, envelope, token)?;
                found.workspace = facts::outputs(&mut self.store, self.world.task(&envelope.task))?;
                found
            }
            _ => adjutant_core::input::Facts::default(),
        };
        facts.earlier = self.floods.count(&by.run().unwrap_or_else(|| facts.token.clone()));
        Ok(Input::Message { incoming, facts })
    }

    /// Returns the run a message counts as, whatever it says itself. Who sends one from inside a run
    /// speaks as its agent: for its own task, and for a task that nobody works on.
    fn of_message(&self, envelope: &Envelope, by: &Whose) -> Option<Token> {
        let Whose::Shown(Token::Run { task, fence }) = by else { return by.run() };
        let beside = envelope.run_token.is_none() && envelope.task != *task;
        let free = self.world.task(&envelope.task).is_none_or(|other| other.lease().is_none());
        match self.agent_of(task, *fence) {
            Some(agent) if beside && free && *agent == envelope.from => None,
            Some(_) if beside => Some(Token::Unknown),
            _ => by.run(),
        }
    }

    fn agent_of(&self, task: &TaskId, fence: u64) -> Option<&AgentId> {
        let task = self.world.task(task)?;
        let leased = task.lease().filter(|lease| lease.fence == fence).map(|lease| &lease.agent);
        let last = task.last_run.as_ref().filter(|run| run.fence == fence).map(|run| &run.agent);
        leased.or(last)
    }

    fn session_end(
        &mut self,
        task: Option<&TaskId>,
        group: &mut Group,
    ) -> Result<Input, StoreError> {
        let of = |id: &TaskId| task.is_none_or(|task| task == id);
        let working = self.world.with_status(Status::InProgress).map(|task| task.id.clone());
        let ids: Vec<TaskId> = working.filter(|id| of(id)).collect();
        self.look_at(&ids, group)?;
        let mut found = Vec::new();
        // What lies there for work that started again in this group is put aside by its commit.
        for id in ids.into_iter().filter(|id| !group.starts_again(id)) {
            found.extend(self.store.result(&id)?.map(|result| (id, result)));
        }
        Ok(Input::SessionEnd { found })
    }

    /// Returns the tasks a command bears on; for a new task, the id it will get.
    fn concerned(&self, command: &Command) -> Vec<TaskId> {
        match command {
            Command::Add(new) => {
                let linked = new.depends_on.iter().chain(&new.parent).cloned();
                linked.chain([self.world.next_id(self.clock.now())]).collect()
            }
            other => other.task().cloned().into_iter().collect(),
        }
    }
}

/// Reads the messages among many requests, on all processors; of few, each is read in its turn.
pub(super) fn read_all(requests: &[Request]) -> Vec<Option<Incoming>> {
    side_by_side(requests, |request| match request {
        Request::Message(raw) if requests.len() >= MANY => Some(read(raw)),
        _ => None,
    })
}

/// From how many on it is worth waking another processor.
const MANY: usize = 16;

fn read(raw: &[u8]) -> Incoming {
    dialect::read(raw, &yaml::read)
}

/// Whose a text is, beside what it says itself.
enum Whose {
    /// It came by no run.
    Nobodys,
    /// It came by this run, whatever it is, and speaks for no other.
    Run(Token),
    /// It was sent from inside this run. Its agent may have something to say beside its own task.
    Shown(Token),
}

impl Whose {
    fn run(&self) -> Option<Token> {
        match self {
            Self::Run(run) | Self::Shown(run) => Some(run.clone()),
            Self::Nobodys => None,
        }
    }
}
