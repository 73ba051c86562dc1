//! What the configuration says to decisions.

use std::collections::BTreeMap;

use crate::account::Budget;
use crate::name::AgentId;
use crate::node::NodeId;
use crate::notice;
use crate::pipeline::StoryId;
use crate::task::{Routing, Task};

/// What the configuration says to decisions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Whether a message must carry the token of its run.
    pub require_token: bool,
    /// How work is given out.
    pub scheduler: SchedulerPolicy,
    /// The agents there are. In a fleet each has the slots of all nodes together.
    pub agents: BTreeMap<AgentId, AgentPolicy>,
    /// The nodes of a fleet that are up, each with what it has room for; none on one machine.
    pub nodes: BTreeMap<NodeId, NodePolicy>,
    /// The one story that work is given out for; none where it is given out for everything.
    pub only: Option<StoryId>,
    /// The commands that must pass before work counts as done, where neither its task nor its
    /// agent says.
    pub checks: Vec<Box<str>>,
    /// What approving does, where its agent does not say.
    pub merge: Merge,
    /// Who is told of what.
    pub notify: Vec<notice::Rule>,
}

/// How work is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerPolicy {
    /// How many runs there may be at once.
    pub concurrency: u32,
    /// After how many attempts without a result a task is given up.
    pub attempts_max: u32,
    /// How long the first wait between two attempts is.
    pub backoff_ms: i64,
    /// How long a lease lasts without a sign of life.
    pub heartbeat_ttl_ms: i64,
    /// How much all agents together may use on a day.
    pub budget_day: Budget,
    /// How much a task may use that says nothing of it.
    pub budget_task: Budget,
}

/// What is known of a node of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodePolicy {
    /// How many runs it may have at once.
    pub concurrency: u32,
    /// Its agents, as it has set them up.
    pub agents: BTreeMap<AgentId, AgentPolicy>,
    /// What all of its agents are good for, because of where they are.
    pub labels: Vec<Box<str>>,
}

/// What is known of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPolicy {
    /// How many runs it may have at once.
    pub slots: u32,
    /// What an exit with code 0 and without a report means.
    pub on_exit_ok: OnExitOk,
    /// What `delegatedToMode` names it by.
    pub mode: Option<Box<str>>,
    /// What it is.
    pub role: Option<Box<str>>,
    /// What it is good at.
    pub tags: Vec<Box<str>>,
    /// How much a run may use.
    pub budget: Budget,
    /// How much all of its runs may use on a day.
    pub budget_day: Budget,
    /// What is another number for other settings.
    pub settings: u64,
    /// The commands that must pass before its work counts as done.
    pub checks: Option<Vec<Box<str>>>,
    /// What approving its work does.
    pub merge: Option<Merge>,
    /// Where it works.
    pub place: Place,
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// In a folder that others may work in too.
    #[default]
    Folder,
    /// In a work tree of its own, on a branch of its own.
    Worktree,
}

/// What approving work on a branch of its own does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Merge {
    /// Nothing: the branch stays for a person to merge.
    #[default]
    None,
    /// The base moves on to the branch, if it has not moved otherwise.
    Ff,
    /// The work becomes one commit on the base.
    Squash,
    /// The commits of the work are made anew on the base.
    Rebase,
}

/// What an exit with code 0 and without a report means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnExitOk {
    /// An attempt without a result.
    #[default]
    NoReport,
    /// Work that somebody should look at.
    NeedsReview,
    /// Work that is done.
    Done,
}

impl Policy {
    /// Returns the commands that must pass before the work of a task's run counts as done: what
    /// the task says, else its agent, else the project.
    pub fn checks_of<'a>(&'a self, task: &'a Task) -> &'a [Box<str>] {
        let agent = self.worker(task).and_then(|agent| agent.checks.as_deref());
        task.trials.checks.as_deref().or(agent).unwrap_or(&self.checks)
    }

    /// Says whether somebody looks into what a run of a task says before it counts. The steps of a
    /// story are measured by its own rules.
    pub fn looks_into(&self, task: &Task) -> bool {
        task.story().is_none() && (self.is_on_branch(task) || !self.checks_of(task).is_empty())
    }

    /// Returns what approving the work on a task does. Where the node that has the work is not there
    /// to say so, what it said when the work was claimed counts.
    pub fn merge_of(&self, task: &Task) -> Merge {
        let noted = || task.trials.work.as_ref()?.merge;
        if let Some(merge) = self.absent(task).and_then(|_| noted()) {
            return merge;
        }
        let own = self.worker(task).and_then(|agent| agent.merge);
        if self.is_on_branch(task) { own.unwrap_or(self.merge) } else { Merge::None }
    }

    /// Says whether the work on a task is on a branch of its own. A story is worked on where its
    /// files are.
    pub fn is_on_branch(&self, task: &Task) -> bool {
        task.story().is_none()
            && self.worker(task).is_some_and(|agent| agent.place == Place::Worktree)
    }

    /// Returns the agent that works on a task, or did last, as its node has set it up.
    pub fn worker(&self, task: &Task) -> Option<&AgentPolicy> {
        let last = || task.last_run.as_ref().map(|run| &run.agent);
        let agent = task.lease().map(|lease| &lease.agent).or_else(last)?;
        self.agent_on(agent, task.trials.node.as_ref())
    }

    /// Returns an agent as a node has set it up, or as others have where that node is not there.
    pub fn agent_on(&self, agent: &AgentId, node: Option<&NodeId>) -> Option<&AgentPolicy> {
        let own = node.and_then(|node| self.nodes.get(node)?.agents.get(agent));
        own.or_else(|| self.agents.get(agent))
    }

    /// Returns the node that has work on a task which its next run should go on with: its branch is
    /// there and nowhere else. None if that node is not there.
    pub fn keeper<'t>(&self, task: &'t Task) -> Option<&'t NodeId> {
        let was_looked_into = task.trials.work.as_ref().is_some_and(|work| work.evidence.is_some());
        let has_room = |node: &NodeId| self.nodes.get(node).is_some_and(|it| it.concurrency > 0);
        let node = task.trials.node.as_ref().filter(|node| has_room(node))?;
        (was_looked_into && self.is_on_branch(task)).then_some(node)
    }

    /// Returns the node that had the last run of a task, if it is not there.
    pub(crate) fn absent<'t>(&self, task: &'t Task) -> Option<&'t NodeId> {
        let node = task.trials.node.as_ref().filter(|_| !self.nodes.is_empty());
        node.filter(|node| !self.nodes.contains_key(*node))
    }

    /// Returns the agents a task with this routing may go to, by name.
    pub fn agents_for<'a>(
        &'a self,
        routing: &'a Routing,
    ) -> impl Iterator<Item = (&'a AgentId, &'a AgentPolicy)> {
        self.agents.iter().filter(move |(name, agent)| {
            let somewhere = || self.nodes_for(name, routing).next().is_some();
            if self.nodes.is_empty() { agent.fits(name, routing, &[]) } else { somewhere() }
        })
    }

    /// Returns the nodes that have an agent a task with this routing may go to.
    pub(crate) fn nodes_for<'a>(
        &'a self,
        name: &'a AgentId,
        routing: &'a Routing,
    ) -> impl Iterator<Item = (&'a NodeId, &'a NodePolicy)> {
        // Who asks for an agent by name may still ask for a place by tags.
        let fits = move |agent: &AgentPolicy, node: &NodePolicy| {
            agent.fits(name, routing, &node.labels) && agent.is_good_at(&routing.tags, &node.labels)
        };
        let has = move |node: &NodePolicy| node.agents.get(name).is_some_and(|it| fits(it, node));
        self.nodes.iter().filter(move |(_, node)| has(node))
    }

    /// Says whether an agent that asks for work may have a task with this routing. One that is not
    /// in the configuration may have what is for it, by its name or by a mode of that name, or for
    /// anybody.
    pub(crate) fn may_take(&self, agent: &AgentId, routing: &Routing) -> bool {
        let on_nodes = self.nodes.values().filter_map(|node| node.agents.get(agent));
        let mut known = on_nodes.chain(self.agents.get(agent)).peekable();
        match known.peek() {
            Some(_) => known.any(|known| known.fits(agent, routing, &[])),
            None => AgentPolicy::default().fits(agent, routing, &[]),
        }
    }
}

impl Merge {
    /// Every way there is.
    pub const ALL: [Self; 4] = [Self::None, Self::Ff, Self::Squash, Self::Rebase];

    /// Returns the word of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ff => "ff",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }

    /// Reads the word of the configuration.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|merge| merge.as_str() == word)
    }
}

impl AgentPolicy {
    /// Says whether the agent of this name may be given a task with this routing, where it is good
    /// for this besides.
    fn fits(&self, name: &AgentId, routing: &Routing, labels: &[Box<str>]) -> bool {
        if let Some(agent) = &routing.agent {
            return agent == name;
        }
        // One that says nothing of a mode has its name for one.
        let own = self.mode.as_deref().unwrap_or(name.as_str());
        let mode = routing.mode.as_deref().is_none_or(|mode| mode == own);
        let role = routing.role.as_ref().is_none_or(|role| self.role.as_ref() == Some(role));
        mode && role && self.is_good_at(&routing.tags, labels)
    }

    fn is_good_at(&self, tags: &[Box<str>], labels: &[Box<str>]) -> bool {
        tags.iter().all(|tag| self.tags.contains(tag) || labels.contains(tag))
    }
}

impl Default for SchedulerPolicy {
    fn default() -> Self {
        Self {
            concurrency: 4,
            attempts_max: 3,
            backoff_ms: 60_000,
            heartbeat_ttl_ms: 300_000,
            budget_day: Budget::default(),
            budget_task: Budget::default(),
        }
    }
}

impl Default for AgentPolicy {
    fn default() -> Self {
        Self {
            slots: 1,
            on_exit_ok: OnExitOk::default(),
            mode: None,
            role: None,
            tags: vec![],
            budget: Budget::default(),
            budget_day: Budget::default(),
            settings: 0,
            checks: None,
            merge: None,
            place: Place::default(),
        }
    }
}
