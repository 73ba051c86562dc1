//! Verifies the commits and streams on the servers.

use adjutant_store::StoreVersion;
use adjutant_store::file::SealedChain;
use adjutant_store::hash::ShortHash;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::nats::commits::{CONCURRENT_READS, CommitStream, FolderEnd, check_within};
use crate::nats::error::FleetError;
use crate::nats::stream_settings;

impl CommitStream {
    /// Reads every commit on the servers, and lists those that are missing, unreadable or do not
    /// follow their predecessor.
    pub fn verify(&self) -> Result<Vec<String>, FleetError> {
        let commits = self.clone();
        self.fleet().wait(move |_| async move { commits.verify_all().await })
    }

    /// Lists the stream settings that differ from what Adjutant created.
    pub fn altered_settings(&self) -> Result<Vec<String>, FleetError> {
        let commits = self.clone();
        self.fleet().wait(move |fleet| async move {
            let Some(info) = commits.info().await? else { return Ok(vec![]) };
            Ok(stream_settings::all_problems(&fleet, &info).await)
        })
    }

    /// Lists how a folder with this version and last hash differs from the servers.
    pub fn compare_folder(
        &self,
        version: StoreVersion,
        end: Option<ShortHash>,
    ) -> Result<Vec<String>, FleetError> {
        let commits = self.clone();
        let compared = self.fleet().wait(move |_| async move {
            let Some(info) = commits.info().await? else {
                return commits.check_empty_folder(version);
            };
            check_within(version.0, &info)?;
            commits.expect_same(FolderEnd { version, end }).await
        });
        match compared {
            Ok(()) => Ok(vec![]),
            Err(FleetError::Damaged(what)) => Ok(vec![what]),
            Err(error) => Err(error),
        }
    }

    fn check_empty_folder(&self, version: StoreVersion) -> Result<(), FleetError> {
        if version == StoreVersion(0) {
            return Ok(());
        }
        let name = self.stream_name();
        Err(FleetError::Damaged(format!(
            "there is no stream {name}, but the folder is at version {version}"
        )))
    }

    async fn verify_all(&self) -> Result<Vec<String>, FleetError> {
        let Some(info) = self.info().await? else { return Ok(vec![]) };
        let all = info.state.first_sequence.max(1)..=info.state.last_sequence;
        let (mut chain, mut findings) = (SealedChain::default(), vec![]);
        let mut commits =
            stream::iter(all).map(|number| self.examine(number)).buffered(CONCURRENT_READS);
        while let Some((number, commit)) = commits.try_next().await? {
            let wrong = match commit {
                StoredCommit::Whole(commit) => {
                    chain.check_next(&commit).err().map(|error| error.to_string())
                }
                StoredCommit::Unreadable => Some("it cannot be read back".to_owned()),
                StoredCommit::Foreign(why) => Some(why),
                StoredCommit::Missing => Some("it is missing".to_owned()),
                StoredCommit::Dropped => None,
            };
            if let Some(wrong) = wrong {
                findings.push(format!("commit {number}: {wrong}"));
                // The next commits are checked on their own, without the broken predecessor.
                chain = SealedChain::default();
            }
        }
        Ok(findings)
    }

    async fn examine(&self, number: u64) -> Result<(u64, StoredCommit), FleetError> {
        let found = match self.read_commit(number).await {
            Ok(None) => self.find_late_commit(number).await,
            found => found,
        };
        let kept = match found {
            Ok(Some(commit)) => StoredCommit::Whole(commit),
            // Another node may have trimmed it in the meantime, because the join archive covers it.
            Ok(None) if self.first_version().await?.is_none_or(|first| number < first) => {
                StoredCommit::Dropped
            }
            Ok(None) => StoredCommit::Missing,
            Err(FleetError::Damaged(_)) => StoredCommit::Unreadable,
            Err(FleetError::Foreign { why, .. }) => StoredCommit::Foreign(why),
            Err(error) => return Err(error),
        };
        Ok((number, kept))
    }
}

/// The state of one commit on the servers.
enum StoredCommit {
    Whole(String),
    Unreadable,
    /// No accepted node signed it, for this reason.
    Foreign(String),
    Missing,
    Dropped,
}
