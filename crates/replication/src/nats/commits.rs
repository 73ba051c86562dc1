//! The `JetStream` stream of commits: one message each, whose sequence number is the version.
//!
//! These rules come from measurements on real clusters. An error after publishing does not say
//! whether the server stored the message, so every commit has an id and is looked up in the
//! stream. A refusal does not prove that another commit won, so the message at the expected
//! sequence is read before giving up. While that sequence is empty, the commit is published
//! again; if an earlier attempt arrives after all, the id and the expected sequence ensure that
//! it is stored once.

use adjutant_store::file::last_sealed_hash;
use adjutant_store::hash::ShortHash;
use adjutant_store::{FileStore, Store as _, StoreError, StoreVersion};
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamErrorKind,
};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, RawMessageErrorKind, RetentionPolicy, StorageType,
};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::nats::accepted_keys::SignedKind;
use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::node_signer::unchecked_body;
use crate::nats::options::DurabilityLevel;
use crate::nats::retry::RetryDeadline;
use crate::nats::{join_archive, net, objects, server_check, stream_settings};
use crate::replicated_store::CommitLog;

/// The header with the id that identifies a commit when it is published again.
const ID_HEADER: &str = "Nats-Msg-Id";
/// The header that names the object holding a commit too large for a message.
const OBJECT_HEADER: &str = "Adjutant-Object";

/// The number of commits read concurrently, and the most that one call reads.
pub(crate) const CONCURRENT_READS: usize = 32;
const READ_MAX: u64 = 256;

/// The stream of commits of a project.
#[derive(Clone)]
pub struct CommitStream {
    fleet: FleetConnection,
}

/// The result of publishing a commit once.
enum PublishResult {
    Stored,
    Conflict { now: u64 },
    Unknown(async_nats::Error),
}

impl CommitStream {
    pub fn new(fleet: &FleetConnection) -> Self {
        Self { fleet: fleet.clone() }
    }

    /// Creates the stream so that its first commit follows `after`. An existing stream is
    /// left as it is.
    pub fn create(&self, after: StoreVersion) -> Result<(), FleetError> {
        let commits = self.clone();
        self.fleet.wait(move |_| async move { commits.create_with_retry(after).await })
    }

    /// Deletes the commits before `version`. A node that is further behind must join again.
    pub fn trim(&self, version: StoreVersion) -> Result<(), FleetError> {
        let commits = self.clone();
        self.fleet.wait(move |_| async move { commits.drop_before(version.0).await })
    }

    async fn drop_before(&self, version: u64) -> Result<(), FleetError> {
        let failed = |error: async_nats::Error| self.fleet.unreachable("delete old commits")(error);
        let stream = self.fleet.jetstream().get_stream(self.stream_name()).await;
        let stream = stream.map_err(|error| failed(error.into()))?;
        stream.purge().sequence(version).await.map_err(|error| failed(error.into()))?;
        objects::delete_matching(&self.fleet, |name| {
            object_version(name).is_some_and(|number| number < version)
        })
        .await
    }

    /// Returns the version of the oldest commit on the servers, or None if there is no stream.
    pub(crate) async fn first_version(&self) -> Result<Option<u64>, FleetError> {
        Ok(self.info().await?.map(|info| info.state.first_sequence))
    }

    pub(crate) fn fleet(&self) -> &FleetConnection {
        &self.fleet
    }

    pub(crate) fn stream_name(&self) -> String {
        self.fleet.name("commits")
    }

    fn config(&self, after: StoreVersion, num_replicas: usize) -> Config {
        Config {
            name: self.stream_name(),
            description: Some("every commit of a project, in order".into()),
            subjects: vec![self.fleet.subject("commits")],
            retention: RetentionPolicy::Limits,
            discard: DiscardPolicy::New,
            storage: StorageType::File,
            num_replicas,
            // A replica may return stale data, so every read goes to the stream's leader.
            allow_direct: false,
            deny_delete: true,
            first_sequence: Some(after.next().0),
            ..Config::default()
        }
    }

    async fn create_with_retry(&self, after: StoreVersion) -> Result<(), FleetError> {
        let mut patience = RetryDeadline::new(self.fleet.options().retry_timeout);
        loop {
            let error = self.try_create(after).await.err();
            // Another node may have created the stream in the meantime.
            if let Some(info) = self.info().await? {
                return stream_settings::check(&self.fleet, &info).await;
            }
            // A cluster that has just started cannot place a stream yet.
            if let Some(error) = error
                && (is_final(&error) || !patience.wait_for_retry().await)
            {
                return Err(self.creation_error(error).await);
            }
        }
    }

    /// Explains why the stream was not created. A cluster with too few servers refuses every time;
    /// a server that is down comes back, so that case is only unreachable.
    async fn creation_error(&self, error: CreateStreamError) -> FleetError {
        let few = is_final(&error)
            || server_check::cluster_size(&self.fleet).await < server_check::REPLICAS;
        let (CreateStreamErrorKind::JetStream(error_info), true) = (error.kind(), few) else {
            return self.fleet.unreachable("create a stream")(error.into());
        };
        let problem = format!(
            "a stream with {replicas} replicas needs a cluster of {replicas} servers, and they \
             answer: {error_info}",
            replicas = server_check::REPLICAS
        );
        FleetError::NotDurable {
            servers: self.fleet.options().display_addresses(),
            problems: vec![problem],
        }
    }

    async fn try_create(&self, after: StoreVersion) -> Result<(), CreateStreamError> {
        let streams = self.fleet.jetstream();
        let made = streams.create_stream(self.config(after, server_check::REPLICAS)).await;
        if made.is_err() && self.fleet.options().durability == DurabilityLevel::Relaxed {
            return streams.create_stream(self.config(after, 1)).await.map(drop);
        }
        made.map(drop)
    }

    /// Returns the stream's info from the servers, or None if there is no stream.
    pub(crate) async fn info(&self) -> Result<Option<Info>, FleetError> {
        let mut patience = RetryDeadline::new(self.fleet.options().retry_timeout);
        loop {
            let error = match self.fleet.jetstream().get_stream(self.stream_name()).await {
                Ok(stream) => return Ok(Some(stream.cached_info().clone())),
                Err(error) => error,
            };
            if let GetStreamErrorKind::JetStream(error_info) = error.kind()
                && error_info.error_code() == ErrorCode::STREAM_NOT_FOUND
            {
                return Ok(None);
            }
            if !patience.wait_for_retry().await {
                return Err(self.fleet.unreachable("read the commits")(error.into()));
            }
        }
    }

    /// Reads the message at `sequence` from the stream's leader, without a retry.
    async fn read_once(&self, sequence: u64) -> Result<Option<StreamMessage>, async_nats::Error> {
        let stream = self.fleet.jetstream().get_stream_no_info(self.stream_name()).await?;
        match stream.get_raw_message(sequence).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the message at `sequence`, with retries.
    async fn read_message(&self, sequence: u64) -> Result<Option<StreamMessage>, FleetError> {
        let mut patience = RetryDeadline::new(self.fleet.options().retry_timeout);
        loop {
            match self.read_once(sequence).await {
                Ok(message) => return Ok(message),
                Err(error) if !patience.wait_for_retry().await => {
                    return Err(self.fleet.unreachable("read the commits")(error));
                }
                Err(_) => {}
            }
        }
    }

    /// Reads a commit, which an accepted node must have signed for its version.
    pub(crate) async fn read_commit(&self, sequence: u64) -> Result<Option<String>, FleetError> {
        let Some(bytes) = self.read_signed(sequence).await? else { return Ok(None) };
        let kind = SignedKind::Commit(sequence);
        match self.fleet.verify(&self.context(sequence), kind, &bytes) {
            Ok(read) => String::from_utf8(read.body).map(Some).map_err(|_| unreadable(sequence)),
            Err(refusal) => Err(FleetError::Foreign {
                what: format!("commit {sequence}"),
                why: refusal.to_string(),
                next: FOREIGN_HINT,
            }),
        }
    }

    /// Reads the bytes of a commit, signed or not.
    async fn read_signed(&self, sequence: u64) -> Result<Option<Vec<u8>>, FleetError> {
        let Some(message) = self.read_message(sequence).await? else { return Ok(None) };
        let bytes = match message.headers.get(OBJECT_HEADER) {
            Some(name) => objects::get(&self.fleet, name.as_str()).await?,
            None => Some(message.payload.to_vec()),
        };
        bytes.map(Some).ok_or_else(|| unreadable(sequence))
    }

    /// Returns what the commit of a version is signed for.
    fn context(&self, version: u64) -> String {
        self.fleet.subject(&format!("commits.{version}"))
    }

    /// Returns the first commits after `version`. Reads the end of the stream first:
    /// a commit missing before that end is an error, not the end.
    async fn read_after(&self, version: u64) -> Result<Vec<String>, FleetError> {
        let Some(info) = self.info().await? else { return self.expect_none(version) };
        let last = info.state.last_sequence.min(version + READ_MAX);
        if version >= last {
            return Ok(vec![]);
        }
        check_within(version, &info)?;
        let found: Vec<Option<String>> = stream::iter(version + 1..=last)
            .map(|sequence| self.read_commit(sequence))
            .buffered(CONCURRENT_READS)
            .try_collect()
            .await?;
        let found: Vec<String> = found.into_iter().map_while(std::convert::identity).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        match self.find_late_commit(version + 1).await? {
            Some(commit) => Ok(vec![commit]),
            None => Err(self.missing_error(version).await),
        }
    }

    /// Retries the read of a commit that was not found. A newly elected leader may not have loaded
    /// its last messages yet; once it returns a later commit, this one is missing for good.
    pub(crate) async fn find_late_commit(
        &self,
        sequence: u64,
    ) -> Result<Option<String>, FleetError> {
        let mut patience = RetryDeadline::new(self.fleet.options().retry_timeout);
        loop {
            let end = self.info().await?.map_or(0, |info| info.state.last_sequence);
            let is_past = end > sequence && self.read_message(end).await?.is_some();
            match self.read_commit(sequence).await? {
                Some(commit) => return Ok(Some(commit)),
                None if is_past || !patience.wait_for_retry().await => return Ok(None),
                None => {}
            }
        }
    }

    /// A stream that does not exist is empty, so only a folder at version 0 fits it.
    fn expect_none(&self, version: u64) -> Result<Vec<String>, FleetError> {
        match version {
            0 => Ok(vec![]),
            _ => Err(FleetError::Damaged(format!(
                "the stream {} no longer exists",
                self.stream_name()
            ))),
        }
    }

    /// Explains why a commit is missing: another node may have trimmed the stream in the meantime.
    async fn missing_error(&self, version: u64) -> FleetError {
        let moved = match self.info().await {
            Ok(info) => info.and_then(|info| check_within(version, &info).err()),
            Err(error) => Some(error),
        };
        moved.unwrap_or_else(|| {
            FleetError::Damaged(format!(
                "commit {} is missing in the stream {}, which has later ones: it was deleted, or \
                 the servers lost it; give the project another prefix, then run `adjutant fleet \
                 restore` on the node with the newest folder",
                version + 1,
                self.stream_name()
            ))
        })
    }

    /// Publishes a commit until its result is known. Returns `Err` with the last version if another
    /// commit took its place.
    async fn publish_commit(
        &self,
        expect: u64,
        commit: String,
    ) -> Result<Result<(), u64>, FleetError> {
        let id = self.fleet.connect_client().new_inbox();
        let message = self.pack(&id, expect, commit).await?;
        let mut patience = RetryDeadline::new(self.fleet.options().retry_timeout);
        loop {
            match self.publish_once(expect, &id, message()).await? {
                PublishResult::Stored => return Ok(Ok(())),
                PublishResult::Conflict { now } => return Ok(Err(now)),
                PublishResult::Unknown(error) if !patience.wait_for_retry().await => {
                    self.check_stream_fits(expect).await?;
                    return Err(self.fleet.unreachable("commit")(error));
                }
                PublishResult::Unknown(_) => {}
            }
        }
    }

    /// Builds the message of a commit. A commit too large for a message is put into the object
    /// store first, so that the object exists before a message names it.
    async fn pack(
        &self,
        id: &str,
        expect: u64,
        commit: String,
    ) -> Result<impl Fn() -> PublishMessage + use<>, FleetError> {
        let room =
            self.fleet.connect_client().server_info().max_payload.saturating_sub(HEADER_BYTES);
        let commit = self.fleet.sign(&self.context(expect + 1), commit.as_bytes());
        let (payload, object) = if commit.len() > room {
            let name = object_name(expect + 1, id);
            objects::put(&self.fleet, &name, commit).await?;
            (bytes::Bytes::new(), Some(name))
        } else {
            (commit.into(), None)
        };
        let id = id.to_owned();
        Ok(move || {
            let message = PublishMessage::build()
                .payload(payload.clone())
                .message_id(&id)
                .expected_last_sequence(expect);
            match &object {
                Some(name) => message.header(OBJECT_HEADER, name.as_str()),
                None => message,
            }
        })
    }

    async fn publish_once(
        &self,
        expect: u64,
        id: &str,
        message: PublishMessage,
    ) -> Result<PublishResult, FleetError> {
        let sent =
            self.fleet.jetstream().send_publish(self.fleet.subject("commits"), message).await;
        let answered = match sent {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        let error = match answered {
            Ok(taken) if taken.sequence == expect + 1 => return Ok(PublishResult::Stored),
            Ok(taken) => {
                let (at, expected) = (taken.sequence, expect + 1);
                let what = format!("a commit was stored at {at} instead of {expected}");
                return Err(FleetError::Damaged(what));
            }
            Err(error) => error,
        };
        Ok(match self.read_once(expect + 1).await {
            Ok(Some(there)) if has_id(&there, id) => PublishResult::Stored,
            Ok(Some(_)) => {
                PublishResult::Conflict { now: self.last_sequence().await.unwrap_or(expect + 1) }
            }
            Ok(None) | Err(_) => PublishResult::Unknown(error.into()),
        })
    }

    /// Returns the version of the last commit on the servers.
    pub fn last_version(&self) -> Result<StoreVersion, FleetError> {
        let commits = self.clone();
        self.fleet.wait(move |_| async move {
            let info = commits.info().await?;
            Ok(StoreVersion(info.map_or(0, |info| info.state.last_sequence)))
        })
    }

    async fn last_sequence(&self) -> Option<u64> {
        let stream = self.fleet.jetstream().get_stream(self.stream_name()).await.ok()?;
        Some(stream.cached_info().state.last_sequence)
    }

    /// Returns why a commit could not be stored, if the stream does not fit its version.
    async fn check_stream_fits(&self, expect: u64) -> Result<(), FleetError> {
        match self.info().await? {
            Some(info) => check_within(expect, &info),
            None => Err(FleetError::Damaged(format!(
                "the stream {} no longer exists",
                self.stream_name()
            ))),
        }
    }

    async fn check_folder(&self, folder: FolderEnd) -> Result<(), FleetError> {
        let version = folder.version.0;
        let Some(mut info) = self.info().await? else {
            return self.expect_new(folder.version).await;
        };
        stream_settings::check(&self.fleet, &info).await?;
        // A newly elected leader may not have loaded its last messages yet.
        let mut patience = RetryDeadline::new(self.fleet.options().retry_timeout);
        while version > info.state.last_sequence && patience.wait_for_retry().await {
            info = self.info().await?.unwrap_or(info);
        }
        check_within(version, &info)?;
        self.expect_same(folder).await
    }

    async fn expect_new(&self, version: StoreVersion) -> Result<(), FleetError> {
        if version == StoreVersion(0) {
            return self.create_with_retry(version).await;
        }
        Err(FleetError::Damaged(format!(
            "there is no stream {}, but the folder is at version {version}; if the cluster was \
             lost or is new, `adjutant fleet restore` starts the fleet from this folder",
            self.stream_name()
        )))
    }

    /// Checks that the last commit of the folder is the same on the servers. A commit without
    /// events has no hash, so the check goes back to the last commit that has one.
    pub(crate) async fn expect_same(&self, folder: FolderEnd) -> Result<(), FleetError> {
        let version = folder.version.0;
        for sequence in (1..=version).rev().take(LOOK_BACK_MAX) {
            // This folder has the commit already, so that it is only compared.
            let Some(commit) = self.read_signed(sequence).await? else { return Ok(()) };
            let commit = String::from_utf8_lossy(unchecked_body(&commit));
            let Some(end) = last_sealed_hash(&commit) else { continue };
            if Some(end) == folder.end {
                return Ok(());
            }
            return Err(FleetError::Damaged(format!(
                "the event log of this folder differs from the fleet's at version {version}; \
                 copy this folder, then join again with an empty folder, or replace the fleet's \
                 data with this folder by `adjutant fleet restore`"
            )));
        }
        Ok(())
    }
}

/// How many commits without events `expect_same` goes back to find one with a hash.
const LOOK_BACK_MAX: usize = 64;

/// Bytes reserved for the headers of a message.
const HEADER_BYTES: usize = 4 << 10;

/// The last version of a folder and the hash of its last event.
pub(crate) struct FolderEnd {
    pub(crate) version: StoreVersion,
    pub(crate) end: Option<ShortHash>,
}

/// What to do about a commit that no accepted node signed.
const FOREIGN_HINT: &str = "if a node that has left signed it, list its key with `until VERSION` in \
                            `accepted_keys`; commits of versions before protocol 4 are not \
                            signed: continue under another prefix with `adjutant fleet restore`";

fn unreadable(sequence: u64) -> FleetError {
    FleetError::Damaged(format!("commit {sequence} cannot be read back"))
}

/// Returns the name of the object that holds a commit.
fn object_name(version: u64, id: &str) -> String {
    format!("commit-{version}-{id}")
}

fn object_version(name: &str) -> Option<u64> {
    name.strip_prefix("commit-")?.split('-').next()?.parse().ok()
}

/// Returns whether a retry cannot help: a server without a cluster never supports replicas.
fn is_final(error: &CreateStreamError) -> bool {
    matches!(error.kind(), CreateStreamErrorKind::JetStream(error_info)
        if error_info.error_code() == ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED)
}

fn has_id(message: &StreamMessage, id: &str) -> bool {
    message.headers.get(ID_HEADER).is_some_and(|found| found.as_str() == id)
}

/// Checks that a folder at this version can follow the stream: the stream still has its next
/// commit, and does not end before it.
pub(crate) fn check_within(version: u64, info: &Info) -> Result<(), FleetError> {
    let (name, state) = (&info.config.name, &info.state);
    if version > state.last_sequence {
        return Err(FleetError::Damaged(format!(
            "the folder is at version {version}, but the stream {name} ends at {}: the servers \
             lost commits, or are the wrong servers; `adjutant fleet restore` starts the fleet \
             from this folder",
            state.last_sequence
        )));
    }
    if version + 1 < state.first_sequence {
        return Err(FleetError::Damaged(format!(
            "the folder is at version {version}, but the stream {name} begins at {}: copy the \
             folder, then join again with an empty one",
            state.first_sequence
        )));
    }
    Ok(())
}

impl CommitLog for CommitStream {
    fn commits_after(&self, version: StoreVersion) -> Result<Vec<String>, StoreError> {
        let commits = self.clone();
        let read = self.fleet.wait(move |_| async move { commits.read_after(version.0).await });
        read.map_err(|error| error.into_store(&self.fleet.options().display_addresses()))
    }

    fn append(
        &self,
        expect: StoreVersion,
        commit: String,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), StoreError> {
        let commits = self.clone();
        let sent = self.fleet.spawn(move |fleet| async move {
            let sent = commits.publish_commit(expect.0, commit).await;
            if matches!(sent, Ok(Ok(()))) {
                net::announce_commit(&fleet, expect.next()).await;
            }
            sent
        });
        meanwhile();
        match sent
            .wait()
            .map_err(|error| error.into_store(&self.fleet.options().display_addresses()))?
        {
            Ok(()) => Ok(()),
            Err(now) => Err(StoreError::Conflict { expected: expect, now: StoreVersion(now) }),
        }
    }

    /// Leaves the last `behind` commits on the servers, for nodes that are only a little behind.
    fn store_join_archive(
        &self,
        version: StoreVersion,
        archive: Vec<u8>,
    ) -> Result<(), StoreError> {
        let commits = self.clone();
        let kept = self.fleet.wait(move |fleet| async move {
            join_archive::put_archive(&fleet, archive).await?;
            match version.0.checked_sub(fleet.options().commits_kept) {
                Some(before) => commits.drop_before(before + 1).await,
                None => Ok(()),
            }
        });
        kept.map_err(|error| error.into_store(&self.fleet.options().display_addresses()))
    }

    fn check_folder(&self, folder: &FileStore) -> Result<(), StoreError> {
        let commits = self.clone();
        let stand = FolderEnd { version: folder.version(), end: folder.chain().prev };
        let checked = self.fleet.wait(move |_| async move { commits.check_folder(stand).await });
        checked.map_err(|error| error.into_store(&self.fleet.options().display_addresses()))
    }
}
