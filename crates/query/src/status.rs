//! Whether a daemon runs, its runs, and the number of tasks by status.

#[cfg(feature = "schema")]
use std::collections::BTreeMap;
use std::path::Path;

use adjutant_core::World;
use adjutant_core::schedule::usage_on_day;
use adjutant_model::usage::TokenUsage;
use adjutant_model::{AgentId, Status, Task, TaskId, Time};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_run_files::daemon_lock::DaemonInfo;
use adjutant_run_files::http_endpoint::HttpEndpointFile;
use serde::Serialize;
use serde::ser::Serializer;

/// The state of the daemon, its runs, and the number of tasks by status.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatusView {
    #[serde(flatten)]
    pub daemon: DaemonStatus,
    /// The tasks that have a lease.
    pub runs: Vec<LeasedTask>,
    /// The number of tasks by status.
    #[serde(serialize_with = "serialize_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<Status, u64>"))]
    pub counts: Vec<(Status, usize)>,
    /// The token usage of each agent on this day.
    #[serde(serialize_with = "serialize_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, TokenUsage>"))]
    pub today: Vec<(AgentId, TokenUsage)>,
    /// Why `adjutant.toml` cannot be used, so that the daemon keeps its settings; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_problem: Option<String>,
    /// The settings of `adjutant.toml` that wait for `adjutant trust`; absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unaccepted_settings: Vec<String>,
    /// The changed settings that take effect when the daemon is restarted; absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restart_needed: Vec<String>,
}

/// The daemon of a data folder. All fields but `running` are null if none runs.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DaemonStatus {
    pub running: bool,
    pub pid: Option<u32>,
    pub since: Option<String>,
    pub version: Option<String>,
    /// Its HTTP address.
    pub url: Option<String>,
}

/// A task that has a lease.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeasedTask {
    pub task_id: TaskId,
    pub title: String,
    pub agent: AgentId,
    pub attempt: u32,
    pub since: Time,
    /// Whether its reported work is being checked.
    pub checking: bool,
}

impl DaemonStatus {
    /// Looks for the daemon of a data folder.
    pub fn find(root: &Path) -> Self {
        let daemon = DaemonInfo::find_running(root);
        let endpoint = daemon.as_ref().and_then(|daemon| HttpEndpointFile::read(root, daemon.pid));
        Self {
            running: daemon.is_some(),
            pid: daemon.as_ref().map(|daemon| daemon.pid),
            since: daemon.as_ref().map(|daemon| daemon.since.clone()),
            version: daemon.map(|daemon| daemon.version),
            url: endpoint.map(|endpoint| endpoint.url),
        }
    }
}

impl StatusView {
    pub fn new(daemon: DaemonStatus, world: &World) -> Self {
        let count = |status| (status, world.count(status));
        let today = usage_on_day(world, SystemClock.now()).into_iter();
        let unaccepted = world.policy().config.unaccepted.iter();
        Self {
            daemon,
            runs: world.with_status(Status::InProgress).filter_map(LeasedTask::new).collect(),
            counts: Status::ALL.into_iter().map(count).collect(),
            today: today.map(|(agent, usage)| (agent.clone(), usage)).collect(),
            config_problem: world.policy().config.problem.as_deref().map(str::to_owned),
            unaccepted_settings: unaccepted.map(ToString::to_string).collect(),
            restart_needed: world.policy().config.restart.iter().map(ToString::to_string).collect(),
        }
    }
}

impl LeasedTask {
    fn new(task: &Task) -> Option<Self> {
        let lease = task.lease()?;
        Some(Self {
            task_id: task.id.clone(),
            title: task.title.to_string(),
            agent: lease.agent.clone(),
            attempt: lease.attempt,
            since: lease.acquired_at,
            checking: task.history.claim().is_some(),
        })
    }
}

/// Serializes pairs as an object, in their order.
fn serialize_map<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
