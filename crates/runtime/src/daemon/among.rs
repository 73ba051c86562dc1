//! The place of a daemon among others.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::schedule::own_runs;
use adjutant_core::{Policy, World};
use adjutant_store::file::Folder;
use adjutant_store::{FileStore, Loaded, Net, Store, StoreError};

use super::{Crew, DaemonError};
use crate::engine::Engine;
use crate::fleet::{Bell, Fleet, Gate, Lead, Member, Name, Shipper};
use crate::service::{Client, Unanswered};
use crate::supervisor::Run;
use crate::token::Secret;

/// What is agreed on under this name is what tokens are made from.
const SECRET: &str = "secret";

/// A folder that is open, and what it held.
type Base = (Box<dyn Store + Send>, Loaded);

/// The place of a daemon among others.
pub(super) struct Among {
    member: Arc<Member>,
    net: Arc<dyn Net>,
    /// What goes on besides, until the daemon leaves.
    going: Option<(Lead, Shipper)>,
    root: std::path::PathBuf,
}

impl Among {
    /// Takes the folder, and the place if there is one.
    pub(super) fn of(
        folder: &Folder,
        fleet: Option<Fleet>,
        ttl: Duration,
    ) -> Result<(Base, Option<Self>), StoreError> {
        let Some(Fleet { store, loaded, net, me }) = fleet else {
            let (store, loaded) = FileStore::open(folder)?;
            return Ok(((Box::new(store), loaded), None));
        };
        let member = Arc::new(Member::new(Arc::clone(&net), me, ttl, folder.root()));
        let among = Self { member, net, going: None, root: folder.root().to_owned() };
        Ok(((store, loaded), Some(among)))
    }

    /// Agrees with the others on what all must be at one about. Returns whose its name was.
    pub(super) fn join(&self, world: &World) -> Result<Name, DaemonError> {
        self.member.join(world).map_err(DaemonError::from)
    }

    /// Keeps a name that was another's only if that one had no runs when it was taken, which is
    /// known when all was followed that was committed by then.
    pub(super) fn keep_name<S: Store>(
        &self,
        was: &str,
        engine: &mut Engine<S>,
    ) -> Result<(), DaemonError> {
        engine.follow_others()?;
        self.member.keep_name(was, engine.world()).map_err(DaemonError::from)
    }

    /// Agrees with the others on what tokens are made from.
    pub(super) fn share(&self, root: &Path, own: &Secret) -> Result<Secret, DaemonError> {
        let attempt = "agree with the other nodes on what tokens are made from";
        let kind = |error: &StoreError| match error {
            StoreError::Io { source, .. } => source.kind(),
            _ => io::ErrorKind::Other,
        };
        let agree = |own: &str| {
            self.net
                .agree(SECRET, own)
                .map(|agreed| agreed.text)
                .map_err(|error| io::Error::new(kind(&error), error))
        };
        own.share(root, agree).map_err(|source| DaemonError::Io { attempt, source })
    }

    pub(super) fn gate(&self) -> Gate {
        self.member.gate().clone()
    }

    pub(super) fn member(&self) -> Arc<Member> {
        Arc::clone(&self.member)
    }

    /// Begins to take part.
    pub(super) fn begin(
        &mut self,
        client: &Client,
        policy: Policy,
        bell: Bell,
    ) -> Result<(), DaemonError> {
        let io = |source| DaemonError::Io { attempt: "start a thread", source };
        let shipper = Shipper::start(Arc::clone(&self.net)).map_err(io)?;
        let lead = Lead::begin(&self.member, client, policy, bell)?;
        self.going = Some((lead, shipper));
        Ok(())
    }

    /// Has everybody know that this node wants nothing more. Says whether they do.
    pub(super) fn leaves(&self) -> bool {
        self.going.as_ref().is_some_and(|(lead, _)| lead.leaves())
    }

    /// Fails if this node cannot be one of the others any more.
    pub(super) fn still_fits(&self) -> Result<(), DaemonError> {
        self.member.still_fits().map_err(DaemonError::from)
    }

    /// Lets runs go on that may, ends those that may not, and has everybody see what they print.
    pub(super) fn tend(&self, client: &Client, crew: &mut Crew) -> Result<(), Unanswered> {
        let node = self.member.node().clone();
        let own = client.view(move |world| own_runs(world, &node))?;
        if let Some(granted) = self.member.granted() {
            crew.keep_to(&own, &granted);
        }
        if let Some((_, shipper)) = &self.going {
            let place = |run: &Run| run.folder(&self.root).path().to_owned();
            let entry = |run: &Run| ((run.task.clone(), run.attempt), place(run));
            shipper.watch(crew.take_ended().iter().map(entry));
            shipper.watch(crew.here().map(|(run, _)| entry(run)));
        }
        Ok(())
    }
}
