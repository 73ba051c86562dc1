//! What all nodes of a project agree on, in a bucket of its own: the first to say it has said it for
//! all.

use adjutant_store::net::Agreed;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::kv::{Config, Store};
use async_nats::jetstream::stream::LastRawMessageErrorKind;

use crate::check::REPLICAS;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::options::Durability;
use crate::patience::Patience;

/// What a message has that is no value.
const KV_OPERATION: &str = "KV-Operation";

/// Returns what was agreed on under a key; none if nothing was, or nothing was ever agreed on.
pub(crate) async fn agreed(fleet: &Fleet, on: &str) -> Result<Option<Agreed>, FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        let error = match present(fleet, on).await {
            Ok(there) => return Ok(there),
            Err(error) => error,
        };
        if !patience.again().await {
            return Err(fleet.unreachable("agree with the other nodes")(error));
        }
    }
}

/// Returns what was agreed on under a key: what is given, where that is nothing yet.
pub(crate) async fn agree(fleet: &Fleet, on: &str, own: &str) -> Result<Agreed, FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        let error = match try_agree(fleet, on, own).await {
            Ok(agreed) => return Ok(agreed),
            Err(error) => error,
        };
        if !patience.again().await {
            return Err(fleet.unreachable("agree with the other nodes")(error));
        }
    }
}

/// Puts something in the place of what was agreed on, if it still is. None if it was not.
pub(crate) async fn change(
    fleet: &Fleet,
    on: &str,
    was: &str,
    to: &str,
) -> Result<Option<Agreed>, FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        let error = match try_change(fleet, on, was, to).await {
            Ok(changed) => return Ok(changed),
            Err(error) => error,
        };
        if !patience.again().await {
            return Err(fleet.unreachable("agree with the other nodes")(error));
        }
    }
}

async fn try_agree(fleet: &Fleet, on: &str, own: &str) -> Result<Agreed, async_nats::Error> {
    // Most often it is there, and one question is enough.
    if let Ok(Some(there)) = present(fleet, on).await {
        return Ok(there);
    }
    let bucket = bucket(fleet).await?;
    if let Some(there) = present(fleet, on).await? {
        return Ok(there);
    }
    let revision = bucket.create(on, own.to_owned().into()).await?;
    Ok(Agreed { text: own.to_owned(), revision })
}

/// An answer that was lost says nothing: what is there is looked at again by the next try.
async fn try_change(
    fleet: &Fleet,
    on: &str,
    was: &str,
    to: &str,
) -> Result<Option<Agreed>, async_nats::Error> {
    let bucket = bucket(fleet).await?;
    let Some(there) = present(fleet, on).await? else { return Ok(None) };
    if there.text == to {
        return Ok(Some(there));
    }
    if there.text != was {
        return Ok(None);
    }
    let revision = bucket.update(on, to.to_owned().into(), there.revision).await?;
    Ok(Some(Agreed { text: to.to_owned(), revision }))
}

/// Returns what is there, as the leader of the bucket says: another server may be behind, and say
/// what was there before.
async fn present(fleet: &Fleet, on: &str) -> Result<Option<Agreed>, async_nats::Error> {
    let name = fleet.name("keys");
    let stream = fleet.streams().get_stream_no_info(format!("KV_{name}")).await?;
    let there = match stream.get_last_raw_message_by_subject(&format!("$KV.{name}.{on}")).await {
        Ok(there) => there,
        Err(error) => match error.kind() {
            LastRawMessageErrorKind::NoMessageFound => return Ok(None),
            // The bucket is made by the first node that agrees on something.
            LastRawMessageErrorKind::JetStream(said)
                if said.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                return Ok(None);
            }
            _ => return Err(error.into()),
        },
    };
    // Somebody took it away.
    if there.headers.get(KV_OPERATION).is_some() {
        return Ok(None);
    }
    let text = String::from_utf8(there.payload.to_vec())?;
    Ok(Some(Agreed { text, revision: there.sequence }))
}

async fn bucket(fleet: &Fleet) -> Result<Store, async_nats::Error> {
    let name = fleet.name("keys");
    if let Ok(bucket) = fleet.streams().get_key_value(&name).await {
        return Ok(bucket);
    }
    let config = |num_replicas| Config {
        bucket: name.clone(),
        history: 1,
        num_replicas,
        ..Config::default()
    };
    let made = fleet.streams().create_key_value(config(REPLICAS)).await;
    if made.is_err() && fleet.options().durability == Durability::Relaxed {
        return Ok(fleet.streams().create_key_value(config(1)).await?);
    }
    Ok(made?)
}
