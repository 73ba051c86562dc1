//! The daemon's membership of a fleet: joining, the node's name, the shared secret and the leases
//! of its runs.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_config::Config;
use adjutant_config::redact::SecretRedactor;
use adjutant_config::run_token::TokenSecret;
use adjutant_core::schedule::own_runs;
use adjutant_engine::engine::Engine;
use adjutant_engine::fleet::{FleetMember, FleetSetup, PreviousOwner};
use adjutant_engine::service::{EngineError, EngineHandle, EngineService, FleetEngine};
use adjutant_model::Policy;
use adjutant_process::clock::SystemClock;
use adjutant_runs::supervisor::RunRef;
use adjutant_store::file::DataFolder;
use adjutant_store::{FileStore, FleetNetwork, FleetStore, StoreError};

use super::{DaemonError, DaemonRunManager};
use crate::fleet_threads::{DaemonWaker, NodeThreads};
use crate::log_shipper::LogShipper;

/// The daemon's engine, on a single folder or on a fleet node.
pub(super) enum DaemonEngine {
    Folder(Box<Engine<FileStore>>),
    Node(Box<FleetEngine<Box<dyn FleetStore + Send>>>),
}

impl DaemonEngine {
    /// Starts the engine's thread, which calls `on_commit` after every commit.
    pub(super) fn start(self, on_commit: impl Fn() + Send + 'static) -> EngineService {
        match self {
            Self::Folder(engine) => EngineService::start_with_listener(*engine, on_commit),
            Self::Node(engine) => EngineService::start_in_fleet(*engine, on_commit),
        }
    }
}

/// An opened folder: its engine, the secret that run tokens are derived from, and the membership
/// of this node if it is in a fleet.
pub(super) type OpenedFolder = (DaemonEngine, TokenSecret, Option<FleetMembership>);

pub(super) struct FleetMembership {
    member: Arc<FleetMember>,
    net: Arc<dyn FleetNetwork>,
    /// The leader election and the log shipper, which run until the daemon leaves.
    background: Option<(NodeThreads, LogShipper)>,
    root: PathBuf,
}

impl FleetMembership {
    /// Opens the folder, and joins the fleet if one is given.
    pub(super) fn open(
        folder: &DataFolder,
        fleet: Option<FleetSetup>,
        config: &Config,
        policy: Policy,
        redactor: &SecretRedactor,
    ) -> Result<OpenedFolder, DaemonError> {
        let root = folder.root().to_owned();
        let secret = TokenSecret::open(&root).map_err(|source| DaemonError::Io {
            attempt: "read the token secret of the data folder",
            source,
        })?;
        let clock = Box::new(SystemClock);
        let Some(FleetSetup { store, loaded, net, identity }) = fleet else {
            let (store, loaded) = FileStore::open(folder)?;
            redactor.add_project(&root, config);
            let redactor = redactor.clone();
            let engine = Engine::start_redacting(store, loaded, clock, policy, redactor)?;
            let engine = engine.with_secret(Some(secret.clone())).with_event_log(folder.root());
            return Ok((DaemonEngine::Folder(Box::new(engine)), secret, None));
        };
        let ttl = config.scheduler.heartbeat_ttl.0;
        let member = Arc::new(FleetMember::new(Arc::clone(&net), identity, ttl, &root));
        let membership = Self { member: Arc::clone(&member), net, background: None, root };
        let previous_owner = member.join(&loaded.world)?;
        let secret = membership.agree_on_secret(&secret)?;
        redactor.add_project(&membership.root, config);
        let mut engine = Engine::start_redacting(store, loaded, clock, policy, redactor.clone())?
            .with_secret(Some(secret.clone()))
            .with_event_log(folder.root())
            .with_gate(member.gate().clone());
        if let PreviousOwner::OtherFolder(was) = previous_owner {
            // A name of another node is kept only if that node had no runs when it was taken over.
            // They are known only after every commit made until then.
            engine.apply_other_commits()?;
            member.keep_name(&was, engine.world())?;
        }
        let engine = FleetEngine::new(engine, member, membership.root.clone());
        Ok((DaemonEngine::Node(Box::new(engine)), secret, Some(membership)))
    }

    /// Agrees with the other nodes on the secret that run tokens are derived from.
    fn agree_on_secret(&self, own: &TokenSecret) -> Result<TokenSecret, DaemonError> {
        let attempt = "agree with the other nodes on the token secret";
        let kind = |error: &StoreError| match error {
            StoreError::Io { source, .. } => source.kind(),
            _ => io::ErrorKind::Other,
        };
        let agree = |own: &str| {
            self.net.share_secret(own).map_err(|error| io::Error::new(kind(&error), error))
        };
        own.adopt_agreed(&self.root, agree).map_err(|source| DaemonError::Io { attempt, source })
    }

    pub(super) fn member(&self) -> Arc<FleetMember> {
        Arc::clone(&self.member)
    }

    /// Starts leader election and log shipping.
    pub(super) fn start(
        &mut self,
        client: &EngineHandle,
        policy: Policy,
        bell: DaemonWaker,
    ) -> Result<(), DaemonError> {
        let io = |source| DaemonError::Io { attempt: "start a thread", source };
        let shipper = LogShipper::start(Arc::clone(&self.net)).map_err(io)?;
        let lead = NodeThreads::start(&self.member, client, policy, bell, &self.root)?;
        self.background = Some((lead, shipper));
        Ok(())
    }

    /// Replaces the settings of this node, and announces them.
    pub(super) fn set_policy(&self, policy: Policy) {
        if let Some((threads, _)) = &self.background {
            threads.set_policy(policy);
        }
    }

    /// Announces that this node accepts no more work. Returns whether the other nodes know.
    pub(super) fn announce_leaving(&self) -> bool {
        self.background.as_ref().is_some_and(|(lead, _)| lead.announce_leaving())
    }

    /// Fails if this node can no longer be a member of the fleet.
    pub(super) fn check_membership(&self) -> Result<(), DaemonError> {
        self.member.ensure_member().map_err(DaemonError::from)
    }

    /// Extends the leases of this node's runs, stops runs that are no longer its own, and ships the
    /// logs of runs to the other nodes.
    pub(super) fn maintain_runs(
        &self,
        client: &EngineHandle,
        run_manager: &mut DaemonRunManager,
    ) -> Result<(), EngineError> {
        let node = self.member.node().clone();
        let own = client.view(move |world| own_runs(world, &node))?;
        if let Some(granted) = self.member.granted() {
            run_manager.apply_fleet_grant(&own, &granted);
        }
        if let Some((_, shipper)) = &self.background {
            let place = |run: &RunRef| run.attempt_folder(&self.root).path().to_owned();
            let entry = |run: &RunRef| ((run.task.clone(), run.attempt), place(run));
            shipper.watch(run_manager.take_ended().iter().map(entry));
            shipper.watch(run_manager.active_runs().map(|(run, _)| entry(run)));
        }
        Ok(())
    }
}
