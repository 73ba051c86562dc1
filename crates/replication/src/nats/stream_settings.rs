//! Checks the settings of a project's streams, so that no commit is dropped or changed. An
//! administrator of the servers can change these settings at any time.

use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, RetentionPolicy, StorageType};
use futures_util::future::join_all;

use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::options::DurabilityLevel;
use crate::nats::server_check;

/// Checks the stream of commits, and that all other streams have as many replicas.
pub(crate) async fn check(fleet: &FleetConnection, info: &Info) -> Result<(), FleetError> {
    server_check::check_replicas(fleet, info)?;
    let problems = commit_stream_problems(fleet, &info.config);
    if problems.is_empty() {
        return server_check::refuse_problems(fleet, replica_problems(fleet).await);
    }
    Err(FleetError::Altered { stream: info.config.name.clone(), problems })
}

/// Lists every setting that differs from what Adjutant created.
pub(crate) async fn all_problems(fleet: &FleetConnection, info: &Info) -> Vec<String> {
    let name = &info.config.name;
    let altered = commit_stream_problems(fleet, &info.config);
    let altered = altered.into_iter().map(|problem| format!("the stream {name}: {problem}"));
    altered
        .chain(server_check::replica_problem(fleet, info))
        .chain(replica_problems(fleet).await)
        .collect()
}

/// Lists the settings of the stream of commits that would drop or change commits.
fn commit_stream_problems(fleet: &FleetConnection, config: &Config) -> Vec<String> {
    let strict = fleet.options().durability == DurabilityLevel::Strict;
    let own = [fleet.subject("commits")];
    let asked = [
        (config.subjects != own, "it accepts messages other than commits (subjects)"),
        (config.mirror.is_some(), "it mirrors another stream (mirror)"),
        (config.sources.is_some(), "it copies messages of other streams (sources)"),
        (
            config.retention != RetentionPolicy::Limits,
            "it deletes messages that were read (retention)",
        ),
        (
            config.discard != DiscardPolicy::New,
            "it deletes the oldest message when it is full (discard)",
        ),
        (!config.max_age.is_zero(), "it deletes old messages (max_age)"),
        (
            config.max_messages_per_subject > 0,
            "it limits the number of messages (max_msgs_per_subject)",
        ),
        (config.allow_rollup, "one message can replace all others (allow_rollup_hdrs)"),
        (config.allow_message_ttl, "a message can expire (allow_msg_ttl)"),
        (!config.deny_delete, "single commits can be deleted (deny_delete)"),
        (config.no_ack, "it does not confirm messages (no_ack)"),
        (strict && config.storage != StorageType::File, "it is stored in memory only (storage)"),
    ];
    let wrong = asked.into_iter().filter(|(is_so, _)| *is_so);
    wrong.map(|(_, problem)| problem.to_owned()).collect()
}

/// Lists the other streams with too few replicas. A stream that does not exist yet is skipped: it
/// will be created correctly.
async fn replica_problems(fleet: &FleetConnection) -> Vec<String> {
    if fleet.options().durability == DurabilityLevel::Relaxed {
        return vec![];
    }
    let names = [
        format!("KV_{}", fleet.name("lease")),
        format!("KV_{}", fleet.name("keys")),
        format!("OBJ_{}", fleet.name("objects")),
        fleet.name("logs"),
    ];
    let asked = names.iter().map(|name| fleet.jetstream().get_stream(name));
    let there = join_all(asked).await.into_iter().filter_map(Result::ok);
    there.filter_map(|stream| server_check::replica_problem(fleet, stream.cached_info())).collect()
}
