//! Converts the configuration to the policy that the core decides by.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_model::AgentId;
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::policy::{
    self, AgentPolicy, DelegationDepth, OnExitOk as Meaning, Policy, SchedulerPolicy,
};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::usage::UsageBudget;
use sha2::{Digest, Sha256};

use super::{Agent, Config, DollarAmount, Merge, OnExitOk, Scheduler};

impl Config {
    pub fn policy(&self) -> Policy {
        let agents = self.agents.iter();
        let named = agents.filter_map(|(name, agent)| Some((AgentId::parse(name).ok()?, agent)));
        Policy {
            nodes: BTreeMap::new(),
            only: None,
            require_token: self.protocol.require_token,
            delegation_depth_max: DelegationDepth(self.protocol.delegation_depth_max),
            scheduler: SchedulerPolicy::from(&self.scheduler),
            agents: named.map(|(name, agent)| (name, AgentPolicy::from(agent))).collect(),
            checks: texts(self.project.all_checks()),
            merge: self.project.merge.into(),
            notify: self.notify().map(|(name, notify)| notify.rule(&name)).collect(),
            config: policy::ConfigState::default(),
        }
    }
}

impl From<&Scheduler> for SchedulerPolicy {
    fn from(scheduler: &Scheduler) -> Self {
        Self {
            concurrency: scheduler.concurrency,
            attempts_max: scheduler.attempts_max,
            backoff_ms: millis(scheduler.backoff.0),
            heartbeat_ttl_ms: millis(scheduler.heartbeat_ttl.0),
            budget_day: budget(scheduler.budget_usd_day, scheduler.budget_tokens_day),
            budget_task: budget(scheduler.budget_usd_task, scheduler.budget_tokens_task),
        }
    }
}

impl From<&Agent> for AgentPolicy {
    fn from(agent: &Agent) -> Self {
        Self {
            slots: agent.slots,
            on_exit_ok: match agent.on_exit_ok {
                OnExitOk::NoReport => Meaning::NoReport,
                OnExitOk::NeedsReview => Meaning::NeedsReview,
                OnExitOk::Done => Meaning::Done,
            },
            mode: agent.mode.as_deref().map(Into::into),
            role: agent.role.as_deref().map(Into::into),
            budget: budget(agent.budget_usd, agent.budget_tokens),
            budget_day: budget(agent.budget_usd_day, agent.budget_tokens_day),
            settings: fingerprint(agent),
            tags: texts(&agent.tags),
            checks: agent.checks.as_deref().map(texts),
            merge: agent.merge.map(MergeMode::from),
            place: if agent.has_worktree() {
                policy::WorkspaceKind::Worktree
            } else {
                policy::WorkspaceKind::Folder
            },
            sandbox: agent.sandbox_level(),
            step_sandbox: agent.step_sandbox_level(),
            tasks_max: agent.tasks_max,
            program_problem: None,
        }
    }
}

fn budget(dollars: Option<DollarAmount>, tokens: Option<u64>) -> UsageBudget {
    UsageBudget { tokens, cost: dollars.map(|dollars| dollars.0) }
}

/// Returns a number that differs for different settings. What `auto` stands for is none: a process
/// that has not tried it must get the same number.
fn fingerprint(agent: &Agent) -> u64 {
    let agent = Agent { auto_level: SandboxLevel::None, ..agent.clone() };
    let digest = Sha256::digest(format!("{agent:?}"));
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

impl From<Merge> for MergeMode {
    fn from(merge: Merge) -> Self {
        match merge {
            Merge::None => Self::None,
            Merge::Ff => Self::Ff,
            Merge::Squash => Self::Squash,
            Merge::Rebase => Self::Rebase,
        }
    }
}

fn texts(texts: &[String]) -> Vec<Box<str>> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
