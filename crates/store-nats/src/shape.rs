//! What the streams of a project must be like, so that nothing is dropped from the record or changed
//! in it. Whoever administers the servers can set them otherwise at any time.

use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, RetentionPolicy, StorageType};
use futures_util::future::join_all;

use crate::check;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::options::Durability;

/// Checks the stream of commits, and that everything else is kept as often.
pub(crate) async fn check(fleet: &Fleet, info: &Info) -> Result<(), FleetError> {
    check::replicas(fleet, info)?;
    let problems = altered(fleet, &info.config);
    if problems.is_empty() {
        return check::refuse(fleet, kept_less(fleet).await);
    }
    Err(FleetError::Altered { stream: info.config.name.clone(), problems })
}

/// Says everything that is not as it was made.
pub(crate) async fn problems(fleet: &Fleet, info: &Info) -> Vec<String> {
    let name = &info.config.name;
    let altered = altered(fleet, &info.config);
    let altered = altered.into_iter().map(|problem| format!("the stream {name}: {problem}"));
    altered.chain(check::few(fleet, info)).chain(kept_less(fleet).await).collect()
}

/// Says what of the stream of commits would drop or change any.
fn altered(fleet: &Fleet, config: &Config) -> Vec<String> {
    let strict = fleet.options().durability == Durability::Strict;
    let own = [fleet.subject("commits")];
    let asked = [
        (config.subjects != own, "it takes other messages than commits (subjects)"),
        (config.mirror.is_some(), "it repeats another stream (mirror)"),
        (config.sources.is_some(), "it takes the messages of others (sources)"),
        (config.retention != RetentionPolicy::Limits, "it drops what was read (retention)"),
        (config.discard != DiscardPolicy::New, "it drops the oldest when it is full (discard)"),
        (!config.max_age.is_zero(), "it drops what is old (max_age)"),
        (config.max_messages_per_subject > 0, "it drops all but some (max_msgs_per_subject)"),
        (config.allow_rollup, "a message can take the place of all (allow_rollup_hdrs)"),
        (config.allow_message_ttl, "a message can be dropped when it is old (allow_msg_ttl)"),
        (!config.deny_delete, "a commit can be deleted from its middle (deny_delete)"),
        (config.no_ack, "it does not say what it has taken (no_ack)"),
        (strict && config.storage != StorageType::File, "it is in memory alone (storage)"),
    ];
    let wrong = asked.into_iter().filter(|(is_so, _)| *is_so);
    wrong.map(|(_, problem)| problem.to_owned()).collect()
}

/// Says which of the others are kept less often than commits. One that is not there yet is made as
/// it must be.
async fn kept_less(fleet: &Fleet) -> Vec<String> {
    if fleet.options().durability == Durability::Relaxed {
        return vec![];
    }
    let names = [
        format!("KV_{}", fleet.name("lease")),
        format!("KV_{}", fleet.name("keys")),
        format!("OBJ_{}", fleet.name("objects")),
        fleet.name("logs"),
    ];
    let asked = names.iter().map(|name| fleet.streams().get_stream(name));
    let there = join_all(asked).await.into_iter().filter_map(Result::ok);
    there.filter_map(|stream| check::few(fleet, stream.cached_info())).collect()
}
