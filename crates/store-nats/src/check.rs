//! Checks that servers can keep what is promised, as far as they tell.
//!
//! How often a server syncs is told by the system account alone, to whom it lets ask
//! `$SYS.REQ.SERVER.PING.JSZ`; where nobody answers, nothing is known, and nothing is promised.

use std::time::Duration;

use async_nats::jetstream::stream::Info;
use futures_util::StreamExt;
use serde::Deserialize;

use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::options::Durability;

/// Where every server tells about its streams.
const PING: &str = "$SYS.REQ.SERVER.PING.JSZ";

/// The oldest version that has what is used here.
const VERSION_MIN: (u32, u32) = (2, 11);

/// How many servers keep every message.
pub(crate) const REPLICAS: usize = 3;

/// How long the servers are given to answer all together.
const ANSWERS: Duration = Duration::from_secs(2);

#[derive(Debug, Deserialize)]
struct Answer {
    server: Server,
    #[serde(default)]
    data: Option<Data>,
}

#[derive(Debug, Deserialize)]
struct Server {
    name: String,
    ver: String,
}

#[derive(Debug, Deserialize)]
struct Data {
    config: Option<Config>,
    meta_cluster: Option<Meta>,
}

#[derive(Debug, Deserialize)]
struct Config {
    #[serde(default)]
    sync_always: bool,
}

#[derive(Debug, Deserialize)]
struct Meta {
    #[serde(default)]
    cluster_size: usize,
}

/// Checks what the servers tell of themselves.
pub(crate) async fn servers(fleet: Fleet) -> Result<(), FleetError> {
    if fleet.options().durability == Durability::Relaxed {
        return Ok(());
    }
    let mut problems = Vec::new();
    let info = fleet.client().server_info();
    problems.extend(too_old(&info.server_name, &info.version));
    let answers = ask(&fleet).await?;
    if answers.is_empty() {
        problems.push(format!(
            "no server tells how often it syncs ({PING} is not answered: the system account must \
             export it to this one)"
        ));
    }
    for answer in &answers {
        problems.extend(lacking(answer));
    }
    problems.dedup();
    refuse(&fleet, problems)
}

/// Checks how often the servers keep a message of this stream.
pub(crate) fn replicas(fleet: &Fleet, info: &Info) -> Result<(), FleetError> {
    refuse(fleet, few(fleet, info).into_iter().collect())
}

/// Says that the servers keep a message of this stream less often than was asked for.
pub(crate) fn few(fleet: &Fleet, info: &Info) -> Option<String> {
    if fleet.options().durability == Durability::Relaxed {
        return None;
    }
    let (name, wanted) = (&info.config.name, info.config.num_replicas);
    let there = info.cluster.as_ref().map_or(1, |cluster| cluster.replicas.len() + 1);
    let few = wanted.min(there);
    (few < REPLICAS).then(|| format!("the stream {name} is kept {few} times, not {REPLICAS} times"))
}

/// Refuses servers that have a problem.
pub(crate) fn refuse(fleet: &Fleet, problems: Vec<String>) -> Result<(), FleetError> {
    if problems.is_empty() {
        return Ok(());
    }
    Err(FleetError::NotDurable { servers: fleet.options().shown(), problems })
}

async fn ask(fleet: &Fleet) -> Result<Vec<Answer>, FleetError> {
    let client = fleet.client();
    let inbox = client.new_inbox();
    let unreachable = |error: async_nats::Error| fleet.unreachable("ask the servers")(error);
    let mut told = client.subscribe(inbox.clone()).await.map_err(|e| unreachable(e.into()))?;
    let asked = client.publish_with_reply(PING, inbox, "{}".into()).await;
    asked.map_err(|error| unreachable(error.into()))?;
    let mut answers: Vec<Answer> = Vec::new();
    let all = async {
        while let Some(message) = told.next().await {
            let Ok(answer) = serde_json::from_slice::<Answer>(&message.payload) else { return };
            answers.push(answer);
            if answers.len() >= expected(&answers) {
                return;
            }
        }
    };
    // Who does not answer in time is down; those who do are checked.
    let _ = tokio::time::timeout(ANSWERS, all).await;
    Ok(answers)
}

/// Returns how many servers there are, those that are down included. Where nobody tells, there may
/// be enough.
pub(crate) async fn count(fleet: &Fleet) -> usize {
    match ask(fleet).await {
        Ok(answers) if !answers.is_empty() => expected(&answers),
        Ok(_) | Err(_) => REPLICAS,
    }
}

fn expected(answers: &[Answer]) -> usize {
    let sizes = answers.iter().filter_map(|answer| answer.data.as_ref()?.meta_cluster.as_ref());
    sizes.map(|meta| meta.cluster_size).max().unwrap_or(1)
}

fn lacking(answer: &Answer) -> Vec<String> {
    let name = &answer.server.name;
    let mut problems: Vec<String> = too_old(name, &answer.server.ver).into_iter().collect();
    let config = answer.data.as_ref().and_then(|data| data.config.as_ref());
    if !config.is_some_and(|config| config.sync_always) {
        problems.push(format!("{name} does not sync before it answers (sync_interval: always)"));
    }
    problems
}

fn too_old(name: &str, version: &str) -> Option<String> {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let known = numbers.next().flatten().zip(numbers.next().flatten());
    let (major, minor) = VERSION_MIN;
    let old = known.is_none_or(|version| version < VERSION_MIN);
    old.then(|| format!("{name} is version {version}, and {major}.{minor} is the least"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        lacking(&serde_json::from_str(text).expect("an answer"))
    }

    #[test]
    fn a_server_that_syncs_and_is_new_enough_lacks_nothing() {
        let good =
            r#"{"server":{"name":"a","ver":"2.11.0"},"data":{"config":{"sync_always":true}}}"#;
        assert_eq!(told(good), Vec::<String>::new());
    }

    #[test]
    fn everything_a_server_lacks_is_said() {
        let bad =
            r#"{"server":{"name":"a","ver":"2.10.26"},"data":{"config":{"sync_interval":120}}}"#;
        assert_eq!(
            told(bad),
            [
                "a is version 2.10.26, and 2.11 is the least",
                "a does not sync before it answers (sync_interval: always)",
            ]
        );
        assert!(too_old("a", "2.9.1").is_some() && too_old("a", "dev").is_some());
        assert!(too_old("a", "3.0.0-beta").is_none());
    }
}
