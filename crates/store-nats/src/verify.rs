//! Goes through what the servers have, for whoever wants to know whether it is in order.

use adjutant_store::Version;
use adjutant_store::file::SealedChain;
use adjutant_store::hash::Hash;

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::commits::{AT_ONCE, Commits, Stand, within};
use crate::error::FleetError;
use crate::shape;

impl Commits {
    /// Goes through every commit the servers have, and says which are missing, cannot be read, or
    /// do not follow the one before.
    pub fn verify(&self) -> Result<Vec<String>, FleetError> {
        let commits = self.clone();
        self.fleet().wait(move |_| async move { commits.verify_all().await })
    }

    /// Says what of the streams is not as it was made.
    pub fn altered(&self) -> Result<Vec<String>, FleetError> {
        let commits = self.clone();
        self.fleet().wait(move |fleet| async move {
            let Some(info) = commits.info().await? else { return Ok(vec![]) };
            Ok(shape::problems(&fleet, &info).await)
        })
    }

    /// Says how a folder that ends like this differs from what the servers have.
    pub fn differs(&self, version: Version, end: Option<Hash>) -> Result<Vec<String>, FleetError> {
        let commits = self.clone();
        let compared = self.fleet().wait(move |_| async move {
            let Some(info) = commits.info().await? else { return commits.gone(version) };
            within(version.0, &info)?;
            commits.expect_same(Stand { version, end }).await
        });
        match compared {
            Ok(()) => Ok(vec![]),
            Err(FleetError::Damaged(what)) => Ok(vec![what]),
            Err(error) => Err(error),
        }
    }

    fn gone(&self, version: Version) -> Result<(), FleetError> {
        if version == Version(0) {
            return Ok(());
        }
        let name = self.stream_name();
        Err(FleetError::Damaged(format!(
            "there is no stream {name}, and the folder is at version {version}"
        )))
    }

    async fn verify_all(&self) -> Result<Vec<String>, FleetError> {
        let Some(info) = self.info().await? else { return Ok(vec![]) };
        let all = info.state.first_sequence.max(1)..=info.state.last_sequence;
        let (mut chain, mut findings) = (SealedChain::default(), vec![]);
        let mut commits = stream::iter(all).map(|number| self.examine(number)).buffered(AT_ONCE);
        while let Some((number, commit)) = commits.try_next().await? {
            let wrong = match commit {
                Kept::Whole(commit) => chain.take(&commit).err().map(|error| error.to_string()),
                Kept::Unreadable => Some("it cannot be read back".to_owned()),
                Kept::Missing => Some("it is missing".to_owned()),
                Kept::Dropped => None,
            };
            if let Some(wrong) = wrong {
                findings.push(format!("commit {number}: {wrong}"));
                // What follows is judged by itself.
                chain = SealedChain::default();
            }
        }
        Ok(findings)
    }

    async fn examine(&self, number: u64) -> Result<(u64, Kept), FleetError> {
        let found = match self.commit(number).await {
            Ok(None) => self.seek(number).await,
            found => found,
        };
        let kept = match found {
            Ok(Some(commit)) => Kept::Whole(commit),
            // Others may have dropped it since, because there is a copy of everything.
            Ok(None) if self.first().await?.is_none_or(|first| number < first) => Kept::Dropped,
            Ok(None) => Kept::Missing,
            Err(FleetError::Damaged(_)) => Kept::Unreadable,
            Err(error) => return Err(error),
        };
        Ok((number, kept))
    }
}

/// What the servers have of a commit.
enum Kept {
    Whole(String),
    Unreadable,
    Missing,
    Dropped,
}
