//! Checks that the NATS servers are as durable as Adjutant promises, as far as they report it.
//!
//! Servers report their sync setting only on `$SYS.REQ.SERVER.PING.JSZ`, which the
//! system account must export. If no server answers, the setting is unknown and
//! `durability = "strict"` is refused.

use std::time::Duration;

use async_nats::jetstream::stream::Info;
use futures_util::StreamExt;
use serde::Deserialize;

use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::options::DurabilityLevel;

/// The subject on which every server reports its `JetStream` settings.
const SERVER_REPORT_SUBJECT: &str = "$SYS.REQ.SERVER.PING.JSZ";

/// The oldest server version with every feature used here.
const VERSION_MIN: (u32, u32) = (2, 11);

/// The number of servers that store every message.
pub(crate) const REPLICAS: usize = 3;

/// How long to collect answers from all servers.
const REPORT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
struct ServerReport {
    server: ServerIdentity,
    #[serde(default)]
    data: Option<JetStreamData>,
}

#[derive(Debug, Deserialize)]
struct ServerIdentity {
    name: String,
    ver: String,
}

#[derive(Debug, Deserialize)]
struct JetStreamData {
    config: Option<JetStreamConfig>,
    meta_cluster: Option<MetaCluster>,
}

#[derive(Debug, Deserialize)]
struct JetStreamConfig {
    #[serde(default)]
    sync_always: bool,
}

#[derive(Debug, Deserialize)]
struct MetaCluster {
    #[serde(default)]
    cluster_size: usize,
}

/// Checks the version and sync setting of every server. Does nothing under relaxed durability.
pub(crate) async fn check_servers(fleet: FleetConnection) -> Result<(), FleetError> {
    if fleet.options().durability == DurabilityLevel::Relaxed {
        return Ok(());
    }
    let mut problems = Vec::new();
    let info = fleet.connect_client().server_info();
    problems.extend(version_problem(&info.server_name, &info.version));
    let answers = ask_servers(&fleet).await?;
    if answers.is_empty() {
        problems.push(format!(
            "no server reports its sync setting ({SERVER_REPORT_SUBJECT} is not answered: the \
             system account must export it to this account)"
        ));
    }
    for answer in &answers {
        problems.extend(server_problems(answer));
    }
    problems.dedup();
    refuse_problems(&fleet, problems)
}

/// Refuses a stream with fewer than [`REPLICAS`] replicas. Allows it under relaxed durability.
pub(crate) fn check_replicas(fleet: &FleetConnection, info: &Info) -> Result<(), FleetError> {
    refuse_problems(fleet, replica_problem(fleet, info).into_iter().collect())
}

/// Describes the problem if a stream has fewer than [`REPLICAS`] replicas.
pub(crate) fn replica_problem(fleet: &FleetConnection, info: &Info) -> Option<String> {
    if fleet.options().durability == DurabilityLevel::Relaxed {
        return None;
    }
    let (name, configured) = (&info.config.name, info.config.num_replicas);
    let there = info.cluster.as_ref().map_or(1, |cluster| cluster.replicas.len() + 1);
    let few = configured.min(there);
    (few < REPLICAS).then(|| format!("the stream {name} has {few} of {REPLICAS} replicas"))
}

/// Returns an error that lists the problems, if there are any.
pub(crate) fn refuse_problems(
    fleet: &FleetConnection,
    problems: Vec<String>,
) -> Result<(), FleetError> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(FleetError::NotDurable { servers: fleet.options().display_addresses(), problems })
}

async fn ask_servers(fleet: &FleetConnection) -> Result<Vec<ServerReport>, FleetError> {
    let client = fleet.connect_client();
    let inbox = client.new_inbox();
    let unreachable = |error: async_nats::Error| fleet.unreachable("ask the servers")(error);
    let mut replies = client.subscribe(inbox.clone()).await.map_err(|e| unreachable(e.into()))?;
    let asked = client.publish_with_reply(SERVER_REPORT_SUBJECT, inbox, "{}".into()).await;
    asked.map_err(|error| unreachable(error.into()))?;
    let mut answers: Vec<ServerReport> = Vec::new();
    let all = async {
        while let Some(message) = replies.next().await {
            let Ok(answer) = serde_json::from_slice::<ServerReport>(&message.payload) else {
                return;
            };
            answers.push(answer);
            if answers.len() >= reported_cluster_size(&answers) {
                return;
            }
        }
    };
    // A server that does not answer in time is down; the servers that answer are checked.
    let _ = tokio::time::timeout(REPORT_TIMEOUT, all).await;
    Ok(answers)
}

/// Returns the size of the cluster, including servers that are down. If no
/// server answers, assumes [`REPLICAS`].
pub(crate) async fn cluster_size(fleet: &FleetConnection) -> usize {
    match ask_servers(fleet).await {
        Ok(answers) if !answers.is_empty() => reported_cluster_size(&answers),
        Ok(_) | Err(_) => REPLICAS,
    }
}

fn reported_cluster_size(answers: &[ServerReport]) -> usize {
    let sizes = answers.iter().filter_map(|answer| answer.data.as_ref()?.meta_cluster.as_ref());
    sizes.map(|meta| meta.cluster_size).max().unwrap_or(1)
}

fn server_problems(answer: &ServerReport) -> Vec<String> {
    let name = &answer.server.name;
    let mut problems: Vec<String> = version_problem(name, &answer.server.ver).into_iter().collect();
    let config = answer.data.as_ref().and_then(|data| data.config.as_ref());
    if !config.is_some_and(|config| config.sync_always) {
        problems
            .push(format!("{name} does not sync before it confirms (set `sync_interval: always`)"));
    }
    problems
}

fn version_problem(name: &str, version: &str) -> Option<String> {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let known = numbers.next().flatten().zip(numbers.next().flatten());
    let (major, minor) = VERSION_MIN;
    let old = known.is_none_or(|version| version < VERSION_MIN);
    old.then(|| format!("{name} is version {version}, but {major}.{minor} or newer is required"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies(text: &str) -> Vec<String> {
        server_problems(&serde_json::from_str(text).expect("an answer"))
    }

    #[test]
    fn server_that_syncs_and_is_new_enough_has_no_problems() {
        let good =
            r#"{"server":{"name":"a","ver":"2.11.0"},"data":{"config":{"sync_always":true}}}"#;
        assert_eq!(replies(good), Vec::<String>::new());
    }

    #[test]
    fn server_problems_are_all_listed() {
        let bad =
            r#"{"server":{"name":"a","ver":"2.10.26"},"data":{"config":{"sync_interval":120}}}"#;
        assert_eq!(
            replies(bad),
            [
                "a is version 2.10.26, but 2.11 or newer is required",
                "a does not sync before it confirms (set `sync_interval: always`)",
            ]
        );
        assert!(version_problem("a", "2.9.1").is_some() && version_problem("a", "dev").is_some());
        assert!(version_problem("a", "3.0.0-beta").is_none());
    }
}
