//! Joins the nodes that share a project. The only place that names their store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::{NodeId, Policy};
use adjutant_runtime::config::{Config, Durability as Asked};
use adjutant_runtime::fleet::{Fleet, Known, Me, Unfit, agree_on_protocol, check_protocol};
use adjutant_store::file::doctor::{Code, Finding};
use adjutant_store::file::ending;
use adjutant_store::{Net, Store, Version};
use adjutant_store_nats::{
    Commits, Durability, Fleet as Servers, FleetError, NatsStore, Options, Tls,
};

use crate::data::Data;
use crate::error::Failure;

/// How long an answer of the servers is waited for: an election takes some seconds.
const PATIENCE: Duration = Duration::from_secs(12);

/// Opens the folder of a node, and the way to the others, for one command.
pub(crate) fn open(data: &Data) -> Result<Fleet, Failure> {
    open_on(data, check_protocol)
}

/// Opens the folder of a node, and the way to the others, for a daemon: it may be the first of a newer
/// version that comes up.
pub(crate) fn open_for_daemon(data: &Data) -> Result<Fleet, Failure> {
    open_on(data, agree_on_protocol)
}

/// The protocol is settled first: of another one nothing may be read or written.
fn open_on(data: &Data, settle: fn(&dyn Net) -> Result<(), Unfit>) -> Result<Fleet, Failure> {
    let me = me(data.config())?;
    let servers = connect(data)?;
    settle(&servers)?;
    servers.join(&data.folder)?;
    let (store, loaded) = NatsStore::open(&data.folder, me.node.as_str(), Commits::new(&servers))?;
    Ok(Fleet { store: Box::new(store), loaded, net: Arc::new(servers), me })
}

/// Connects to the servers the configuration names.
pub(crate) fn connect(data: &Data) -> Result<Servers, Failure> {
    let options = options(data.config(), data.folder.root())?;
    Servers::connect(&options).map_err(|error| not_joined(&error))
}

fn not_joined(error: &FleetError) -> Failure {
    let attempt = "cannot join the fleet";
    match error {
        FleetError::Unreachable { .. } => Failure::unreachable(attempt, error)
            .hint("`store` in adjutant.toml says where the servers are; `adjutant up` tries again until they answer"),
        FleetError::Refused { .. } => Failure::broken(attempt, error)
            .hint("a name and a password are in `store` in adjutant.toml, credentials and certificates in [nats]"),
        FleetError::Options(_)
        | FleetError::File { .. }
        | FleetError::NotDurable { .. }
        | FleetError::Altered { .. }
        | FleetError::Damaged(_) => Failure::broken(attempt, error),
    }
}

/// Returns what is wrong with what the servers have, and how this folder differs from it.
pub(crate) fn examine(data: &Data) -> Result<Vec<Finding>, Failure> {
    let servers = connect(data)?;
    let (commits, place) = (Commits::new(&servers), shown(data));
    if let Err(unfit @ Unfit::Protocol { .. }) = check_protocol(&servers) {
        return Ok(vec![Finding::new(Code::FleetProtocolDiffers, place, unfit.to_string())]);
    }
    let (version, end) = ending(&data.folder)?;
    let failed = |error: FleetError| Failure::broken("cannot read what the fleet shares", &error);
    let found = [
        (Code::FleetStreamAltered, commits.altered().map_err(failed)?),
        (Code::FleetRecordBroken, commits.verify().map_err(failed)?),
        (Code::FleetFolderDiffers, commits.differs(version, end).map_err(failed)?),
    ];
    let findings =
        found.into_iter().flat_map(|(code, texts)| texts.into_iter().map(move |text| (code, text)));
    Ok(findings.map(|(code, text)| Finding::new(code, &place, text)).collect())
}

/// Returns where the servers are, without what lets anybody in.
pub(crate) fn shown(data: &Data) -> String {
    let root = data.folder.root();
    options(data.config(), root).map_or_else(|_| "store".to_owned(), |options| options.shown())
}

/// Returns what decisions go by in the fleet: the nodes that are up, and what they have. None if no
/// node is.
pub(crate) fn policy(data: &Data) -> Result<Option<Policy>, Failure> {
    let servers = connect(data)?;
    let known = Known::of(&servers)?;
    Ok((!known.0.is_empty()).then(|| known.policy(data.config().policy())))
}

/// Makes the folder the fleet's, on servers that have none.
pub(crate) fn restore(data: &Data) -> Result<Version, Failure> {
    let me = me(data.config())?;
    let servers = connect(data)?;
    agree_on_protocol(&servers)?;
    let (store, _) = servers.restore(&data.folder, me.node.as_str())?;
    Ok(store.version())
}

/// Returns who this node is.
pub(crate) fn me(config: &Config) -> Result<Me, Failure> {
    let named = config.nats.node.clone().unwrap_or_else(host);
    let node = NodeId::parse(&named).map_err(|bad| {
        Failure::usage(format!("{named:?} cannot be the name of a node: it {bad}"))
            .hint("give this machine a name: `node = \"…\"` in [nats] of adjutant.toml")
    })?;
    Ok(Me { node, labels: config.nats.labels.clone(), term: config.nats.term.0 })
}

/// Returns the first part of the name of this machine.
fn host() -> String {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

fn options(config: &Config, root: &Path) -> Result<Options, Failure> {
    let nats = &config.nats;
    let inside = |path: &PathBuf| root.join(path);
    let store = config.store.as_deref().unwrap_or_default();
    let options = Options::parse(store).map_err(|error| {
        Failure::usage(format!("the store cannot be used: {error}"))
            .hint("write store = \"nats://host:port,host:port,host:port\" in adjutant.toml")
    })?;
    let client = nats.cert.as_ref().zip(nats.key.as_ref());
    Ok(Options {
        prefix: nats.prefix.clone(),
        credentials: nats.credentials.as_ref().map(inside),
        tls: Tls {
            ca: nats.ca.as_ref().map(inside),
            client: client.map(|(cert, key)| (inside(cert), inside(key))),
        },
        durability: match nats.durability {
            Asked::Strict => Durability::Strict,
            Asked::Relaxed => Durability::Relaxed,
        },
        patience: PATIENCE,
        ..options
    })
}
