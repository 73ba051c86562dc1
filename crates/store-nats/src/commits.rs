//! The stream of commits: one message each, and its sequence is the version.
//!
//! What was measured on real clusters is binding here. An error after a message was sent says
//! nothing about whether it was taken, so every commit has an id and is looked for in the stream.
//! A refusal is no proof of having lost, so what lies in the commit's place is read before giving
//! up. While there is nothing, the commit is sent again: if an earlier try comes through after
//! all, the id and the expected sequence see to it that it counts once.

use adjutant_store::file::end_of_sealed;
use adjutant_store::hash::Hash;
use adjutant_store::{FileStore, Sequence, Store as _, StoreError, Version};
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamErrorKind,
};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, RawMessageErrorKind, RetentionPolicy, StorageType,
};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::check;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::net;
use crate::objects;
use crate::options::Durability;
use crate::patience::Patience;
use crate::shape;
use crate::snapshot;

/// The id of a commit, by which it is known again.
const ID: &str = "Nats-Msg-Id";
/// Names the object that holds a commit which is too long for a message.
const OBJECT: &str = "Adjutant-Object";

/// How many commits are asked for at once, and taken in at once.
pub(crate) const AT_ONCE: usize = 32;
const MANY: u64 = 256;

/// The stream of commits of a project.
#[derive(Clone)]
pub struct Commits {
    fleet: Fleet,
}

/// What became of one try to commit.
enum Tried {
    Taken,
    Lost { now: u64 },
    Open(async_nats::Error),
}

impl Commits {
    /// Takes the commits of a fleet.
    pub fn new(fleet: &Fleet) -> Self {
        Self { fleet: fleet.clone() }
    }

    /// Makes the stream, to go on after a version. One that is there already stays as it is.
    pub fn establish(&self, after: Version) -> Result<(), FleetError> {
        let commits = self.clone();
        self.fleet.wait(move |_| async move { commits.make(after).await })
    }

    /// Drops what comes before a version: who is further behind joins anew.
    pub fn trim(&self, version: Version) -> Result<(), FleetError> {
        let commits = self.clone();
        self.fleet.wait(move |_| async move { commits.drop_before(version.0).await })
    }

    async fn drop_before(&self, version: u64) -> Result<(), FleetError> {
        let failed = |error: async_nats::Error| self.fleet.unreachable("drop commits")(error);
        let stream = self.fleet.streams().get_stream(self.stream_name()).await;
        let stream = stream.map_err(|error| failed(error.into()))?;
        stream.purge().sequence(version).await.map_err(|error| failed(error.into()))?;
        objects::remove(&self.fleet, |name| number_of(name).is_some_and(|number| number < version))
            .await
    }

    /// Returns the version of the first commit the servers have; none if there is no stream.
    pub(crate) async fn first(&self) -> Result<Option<u64>, FleetError> {
        Ok(self.info().await?.map(|info| info.state.first_sequence))
    }

    pub(crate) fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    pub(crate) fn stream_name(&self) -> String {
        self.fleet.name("commits")
    }

    fn config(&self, after: Version, num_replicas: usize) -> Config {
        Config {
            name: self.stream_name(),
            description: Some("every commit of a project, in order".into()),
            subjects: vec![self.fleet.subject("commits")],
            retention: RetentionPolicy::Limits,
            discard: DiscardPolicy::New,
            storage: StorageType::File,
            num_replicas,
            // What is read from a replica may be old: reads go to the leader.
            allow_direct: false,
            deny_delete: true,
            first_sequence: Some(after.next().0),
            ..Config::default()
        }
    }

    async fn make(&self, after: Version) -> Result<(), FleetError> {
        let mut patience = Patience::new(self.fleet.options().patience);
        loop {
            let error = self.try_make(after).await.err();
            // Another node may have made it this very moment.
            if let Some(info) = self.info().await? {
                return shape::check(&self.fleet, &info).await;
            }
            // A cluster that has just come up has no place for a stream yet.
            if let Some(error) = error
                && (is_final(&error) || !patience.again().await)
            {
                return Err(self.not_made(error).await);
            }
        }
    }

    /// Fewer servers than are needed do answer, and will say no again; one that is down comes back.
    async fn not_made(&self, error: CreateStreamError) -> FleetError {
        let few = is_final(&error) || check::count(&self.fleet).await < check::REPLICAS;
        let (CreateStreamErrorKind::JetStream(said), true) = (error.kind(), few) else {
            return self.fleet.unreachable("make a stream")(error.into());
        };
        let problem = format!(
            "a stream was asked for that is kept {replicas} times, which takes a cluster of \
             {replicas} servers, and they say: {said}",
            replicas = check::REPLICAS
        );
        FleetError::NotDurable { servers: self.fleet.options().shown(), problems: vec![problem] }
    }

    async fn try_make(&self, after: Version) -> Result<(), CreateStreamError> {
        let streams = self.fleet.streams();
        let made = streams.create_stream(self.config(after, check::REPLICAS)).await;
        if made.is_err() && self.fleet.options().durability == Durability::Relaxed {
            return streams.create_stream(self.config(after, 1)).await.map(drop);
        }
        made.map(drop)
    }

    /// Returns what the servers tell of the stream; none if there is none.
    pub(crate) async fn info(&self) -> Result<Option<Info>, FleetError> {
        let mut patience = Patience::new(self.fleet.options().patience);
        loop {
            let error = match self.fleet.streams().get_stream(self.stream_name()).await {
                Ok(stream) => return Ok(Some(stream.cached_info().clone())),
                Err(error) => error,
            };
            if let GetStreamErrorKind::JetStream(said) = error.kind()
                && said.error_code() == ErrorCode::STREAM_NOT_FOUND
            {
                return Ok(None);
            }
            if !patience.again().await {
                return Err(self.fleet.unreachable("read the commits")(error.into()));
            }
        }
    }

    /// Reads the message of a sequence from the leader, once.
    async fn look(&self, sequence: u64) -> Result<Option<StreamMessage>, async_nats::Error> {
        let stream = self.fleet.streams().get_stream_no_info(self.stream_name()).await?;
        match stream.get_raw_message(sequence).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the message of a sequence, however often it takes.
    async fn message(&self, sequence: u64) -> Result<Option<StreamMessage>, FleetError> {
        let mut patience = Patience::new(self.fleet.options().patience);
        loop {
            match self.look(sequence).await {
                Ok(message) => return Ok(message),
                Err(error) if !patience.again().await => {
                    return Err(self.fleet.unreachable("read the commits")(error));
                }
                Err(_) => {}
            }
        }
    }

    pub(crate) async fn commit(&self, sequence: u64) -> Result<Option<String>, FleetError> {
        match self.message(sequence).await? {
            Some(message) => self.unpack(message).await.map(Some),
            None => Ok(None),
        }
    }

    async fn unpack(&self, message: StreamMessage) -> Result<String, FleetError> {
        let sequence = message.sequence;
        let bytes = match message.headers.get(OBJECT) {
            Some(name) => objects::get(&self.fleet, name.as_str()).await?,
            None => Some(message.payload.to_vec()),
        };
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.ok_or_else(|| FleetError::Damaged(format!("commit {sequence} cannot be read back")))
    }

    /// Reads what comes after a version: nothing, or the first of it. Where the stream ends is asked
    /// first: a commit that is missing before that is not the end.
    async fn read_after(&self, version: u64) -> Result<Vec<String>, FleetError> {
        let Some(info) = self.info().await? else { return self.expect_none(version) };
        let last = info.state.last_sequence.min(version + MANY);
        if version >= last {
            return Ok(vec![]);
        }
        within(version, &info)?;
        let found: Vec<Option<String>> = stream::iter(version + 1..=last)
            .map(|sequence| self.commit(sequence))
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let found: Vec<String> = found.into_iter().map_while(std::convert::identity).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        match self.seek(version + 1).await? {
            Some(commit) => Ok(vec![commit]),
            None => Err(self.missing(version).await),
        }
    }

    /// Looks again for a commit that was not there. A leader that was just elected may not have
    /// come to the end of what it keeps; one that has a later commit has come past this one.
    pub(crate) async fn seek(&self, sequence: u64) -> Result<Option<String>, FleetError> {
        let mut patience = Patience::new(self.fleet.options().patience);
        loop {
            let end = self.info().await?.map_or(0, |info| info.state.last_sequence);
            let is_past = end > sequence && self.message(end).await?.is_some();
            match self.commit(sequence).await? {
                Some(commit) => return Ok(Some(commit)),
                None if is_past || !patience.again().await => return Ok(None),
                None => {}
            }
        }
    }

    /// A stream that nobody has made yet has nothing in it.
    fn expect_none(&self, version: u64) -> Result<Vec<String>, FleetError> {
        match version {
            0 => Ok(vec![]),
            _ => Err(FleetError::Damaged(format!("the stream {} is gone", self.stream_name()))),
        }
    }

    /// Says why a commit is missing: others may have dropped it this very moment.
    async fn missing(&self, version: u64) -> FleetError {
        let moved = match self.info().await {
            Ok(info) => info.and_then(|info| within(version, &info).err()),
            Err(error) => Some(error),
        };
        moved.unwrap_or_else(|| {
            FleetError::Damaged(format!(
                "commit {} is missing in the stream {}, which goes on after it: somebody removed it, \
                 or the servers lost it; give the project another prefix, and make the folder that \
                 knows most the fleet's with `adjutant fleet restore`",
                version + 1,
                self.stream_name()
            ))
        })
    }

    /// Sends a commit until it is known what became of it.
    async fn send(&self, expect: u64, commit: String) -> Result<Result<(), u64>, FleetError> {
        let id = self.fleet.client().new_inbox();
        let message = self.pack(&id, expect, commit).await?;
        let mut patience = Patience::new(self.fleet.options().patience);
        loop {
            match self.try_once(expect, &id, message()).await? {
                Tried::Taken => return Ok(Ok(())),
                Tried::Lost { now } => return Ok(Err(now)),
                Tried::Open(error) if !patience.again().await => {
                    self.explain(expect).await?;
                    return Err(self.fleet.unreachable("commit")(error));
                }
                Tried::Open(_) => {}
            }
        }
    }

    /// A commit that is too long for a message goes to the object store first: the message that
    /// names it comes only when it is there.
    async fn pack(
        &self,
        id: &str,
        expect: u64,
        commit: String,
    ) -> Result<impl Fn() -> PublishMessage + use<>, FleetError> {
        let room = self.fleet.client().server_info().max_payload.saturating_sub(HEADERS);
        let (payload, object) = if commit.len() > room {
            let name = object_of(expect + 1, id);
            objects::put(&self.fleet, &name, commit.into_bytes()).await?;
            (bytes::Bytes::new(), Some(name))
        } else {
            (commit.into_bytes().into(), None)
        };
        let id = id.to_owned();
        Ok(move || {
            let message = PublishMessage::build()
                .payload(payload.clone())
                .message_id(&id)
                .expected_last_sequence(expect);
            match &object {
                Some(name) => message.header(OBJECT, name.as_str()),
                None => message,
            }
        })
    }

    async fn try_once(
        &self,
        expect: u64,
        id: &str,
        message: PublishMessage,
    ) -> Result<Tried, FleetError> {
        let sent = self.fleet.streams().send_publish(self.fleet.subject("commits"), message).await;
        let answered = match sent {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        let error = match answered {
            Ok(taken) if taken.sequence == expect + 1 => return Ok(Tried::Taken),
            Ok(taken) => {
                let (at, wanted) = (taken.sequence, expect + 1);
                let what = format!("a commit was put at {at} that was meant for {wanted}");
                return Err(FleetError::Damaged(what));
            }
            Err(error) => error,
        };
        Ok(match self.look(expect + 1).await {
            Ok(Some(there)) if is(&there, id) => Tried::Taken,
            Ok(Some(_)) => Tried::Lost { now: self.last().await.unwrap_or(expect + 1) },
            Ok(None) | Err(_) => Tried::Open(error.into()),
        })
    }

    /// Returns the version of the last commit the servers have.
    pub fn end(&self) -> Result<Version, FleetError> {
        let commits = self.clone();
        self.fleet.wait(move |_| async move {
            let info = commits.info().await?;
            Ok(Version(info.map_or(0, |info| info.state.last_sequence)))
        })
    }

    async fn last(&self) -> Option<u64> {
        let stream = self.fleet.streams().get_stream(self.stream_name()).await.ok()?;
        Some(stream.cached_info().state.last_sequence)
    }

    /// Finds out why a commit never found its place.
    async fn explain(&self, expect: u64) -> Result<(), FleetError> {
        match self.info().await? {
            Some(info) => within(expect, &info),
            None => Err(FleetError::Damaged(format!("the stream {} is gone", self.stream_name()))),
        }
    }

    async fn check_folder(&self, folder: Stand) -> Result<(), FleetError> {
        let version = folder.version.0;
        let Some(mut info) = self.info().await? else {
            return self.expect_new(folder.version).await;
        };
        shape::check(&self.fleet, &info).await?;
        // A leader that was just elected may not have come to the end of what it keeps.
        let mut patience = Patience::new(self.fleet.options().patience);
        while version > info.state.last_sequence && patience.again().await {
            info = self.info().await?.unwrap_or(info);
        }
        within(version, &info)?;
        self.expect_same(folder).await
    }

    async fn expect_new(&self, version: Version) -> Result<(), FleetError> {
        if version == Version(0) {
            return self.make(version).await;
        }
        Err(FleetError::Damaged(format!(
            "there is no stream {}, and the folder is at version {version}; if the cluster was \
             lost, or is new, `adjutant fleet restore` makes this folder the fleet's",
            self.stream_name()
        )))
    }

    /// The last commit that both have must be the same one. Where it says nothing, the one before
    /// it that does.
    pub(crate) async fn expect_same(&self, folder: Stand) -> Result<(), FleetError> {
        let version = folder.version.0;
        for sequence in (1..=version).rev().take(BACK_MAX) {
            let Some(commit) = self.commit(sequence).await? else { return Ok(()) };
            let Some(end) = end_of_sealed(&commit) else { continue };
            if Some(end) == folder.end {
                return Ok(());
            }
            return Err(FleetError::Damaged(format!(
                "the record in the folder differs from the fleet's at version {version}; keep a \
                 copy of the folder, then join anew with an empty one, or make this one the \
                 fleet's with `adjutant fleet restore`"
            )));
        }
        Ok(())
    }
}

/// How many commits that say nothing are looked past to find one that does.
const BACK_MAX: usize = 64;

/// Room for the headers of a message.
const HEADERS: usize = 4 << 10;

/// Where a folder ends.
pub(crate) struct Stand {
    pub(crate) version: Version,
    pub(crate) end: Option<Hash>,
}

/// What the object is called that holds a commit.
fn object_of(version: u64, id: &str) -> String {
    format!("commit-{version}-{id}")
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("commit-")?.split('-').next()?.parse().ok()
}

/// A server that is alone will not become three by waiting.
fn is_final(error: &CreateStreamError) -> bool {
    matches!(error.kind(), CreateStreamErrorKind::JetStream(said)
        if said.error_code() == ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED)
}

fn is(message: &StreamMessage, id: &str) -> bool {
    message.headers.get(ID).is_some_and(|found| found.as_str() == id)
}

/// Says whether a folder of this version can go on with the stream.
pub(crate) fn within(version: u64, info: &Info) -> Result<(), FleetError> {
    let (name, state) = (&info.config.name, &info.state);
    if version > state.last_sequence {
        return Err(FleetError::Damaged(format!(
            "the folder is at version {version} and the stream {name} ends at {}: the servers lost \
             what was committed, or are others; `adjutant fleet restore` makes this folder the \
             fleet's",
            state.last_sequence
        )));
    }
    if version + 1 < state.first_sequence {
        return Err(FleetError::Damaged(format!(
            "the folder is at version {version} and the stream {name} begins at {}: keep a copy of \
             the folder, then join anew with an empty one",
            state.first_sequence
        )));
    }
    Ok(())
}

impl Sequence for Commits {
    fn after(&self, version: Version) -> Result<Vec<String>, StoreError> {
        let commits = self.clone();
        let read = self.fleet.wait(move |_| async move { commits.read_after(version.0).await });
        read.map_err(|error| error.into_store(&self.fleet.options().shown()))
    }

    fn append(
        &self,
        expect: Version,
        commit: String,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), StoreError> {
        let commits = self.clone();
        let sent = self.fleet.begin(move |fleet| async move {
            let sent = commits.send(expect.0, commit).await;
            if matches!(sent, Ok(Ok(()))) {
                net::tell(&fleet, expect.next()).await;
            }
            sent
        });
        meanwhile();
        match sent.wait().map_err(|error| error.into_store(&self.fleet.options().shown()))? {
            Ok(()) => Ok(()),
            Err(now) => Err(StoreError::Conflict { expected: expect, now: Version(now) }),
        }
    }

    /// Whoever is not far behind finds its commits for a while yet.
    fn keep(&self, version: Version, archive: Vec<u8>) -> Result<(), StoreError> {
        let commits = self.clone();
        let kept = self.fleet.wait(move |fleet| async move {
            snapshot::put(&fleet, archive).await?;
            match version.0.checked_sub(fleet.options().behind) {
                Some(before) => commits.drop_before(before + 1).await,
                None => Ok(()),
            }
        });
        kept.map_err(|error| error.into_store(&self.fleet.options().shown()))
    }

    fn check(&self, folder: &FileStore) -> Result<(), StoreError> {
        let commits = self.clone();
        let stand = Stand { version: folder.version(), end: folder.chain().prev };
        let checked = self.fleet.wait(move |_| async move { commits.check_folder(stand).await });
        checked.map_err(|error| error.into_store(&self.fleet.options().shown()))
    }
}
