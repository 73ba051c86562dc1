//! Connects this node to its fleet. Only this file names the fleet's store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::{Config, Durability as Asked};
use adjutant_engine::fleet::{
    FleetSetup, KnownNodes, MembershipError, NodeIdentity, agree_on_protocol, check_protocol,
};
use adjutant_model::{NodeId, Policy};
use adjutant_process::regular_file::open_regular;
use adjutant_replication::nats::{
    AcceptedKeys, CommitStream, DurabilityLevel, FleetConnection as Servers, FleetError,
    FleetOptions, LoginSeed, NatsStore, NodeSigner, OptionsError, TlsFiles,
};
use adjutant_store::file::doctor::{DoctorFinding, FindingCode};
use adjutant_store::file::{DataFolder, read_folder_end};
use adjutant_store::{FleetNetwork, Store, StoreVersion};

use crate::node_key_file::read_key;
use crate::output::error::CommandFailure;

/// The timeout of a request to the servers: a leader election takes some seconds.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(12);

/// Opens the replica of this node and its connection to the fleet, for one command.
pub(crate) fn open(folder: &DataFolder, config: &Config) -> Result<FleetSetup, CommandFailure> {
    open_with_protocol(folder, config, check_protocol)
}

/// Opens the replica of this node and its connection to the fleet, for a daemon. The daemon may be
/// the first node of a newer version and raise the protocol.
pub(crate) fn open_for_daemon(
    folder: &DataFolder,
    config: &Config,
) -> Result<FleetSetup, CommandFailure> {
    open_with_protocol(folder, config, agree_on_protocol)
}

/// Checks the protocol first: nothing may be read or written under another one.
fn open_with_protocol(
    folder: &DataFolder,
    config: &Config,
    settle: fn(&dyn FleetNetwork) -> Result<(), MembershipError>,
) -> Result<FleetSetup, CommandFailure> {
    let me = own_identity(config)?;
    let servers = connect(folder, config)?;
    settle(&servers)?;
    servers.join(folder)?;
    let (store, loaded) = NatsStore::open(folder, me.node.as_str(), CommitStream::new(&servers))?;
    Ok(FleetSetup { store: Box::new(store), loaded, net: Arc::new(servers), identity: me })
}

pub(crate) fn connect(folder: &DataFolder, config: &Config) -> Result<Servers, CommandFailure> {
    let options = nats_options(config, folder.root())?;
    Servers::connect(&options).map_err(|error| join_failure(&error))
}

fn join_failure(error: &FleetError) -> CommandFailure {
    let attempt = "cannot join the fleet";
    match error {
        FleetError::Unreachable { .. } => CommandFailure::unreachable(attempt, error)
            .with_hint("check the addresses in `store` of adjutant.toml; `adjutant up` retries until the servers answer"),
        FleetError::Refused { .. } => CommandFailure::broken(attempt, error)
            .with_hint("check the user and password in `store` of adjutant.toml, and the credentials and certificates in [nats]"),
        FleetError::Foreign { .. }
        | FleetError::Options(_)
        | FleetError::File { .. }
        | FleetError::NotDurable { .. }
        | FleetError::Altered { .. }
        | FleetError::Damaged(_) => CommandFailure::broken(attempt, error),
    }
}

/// Returns the damage in the servers' data and the differences between it and this folder.
pub(crate) fn examine(
    folder: &DataFolder,
    config: &Config,
) -> Result<Vec<DoctorFinding>, CommandFailure> {
    let servers = connect(folder, config)?;
    let (commits, place) = (CommitStream::new(&servers), servers_without_credentials(config));
    if let Err(unfit @ MembershipError::Protocol { .. }) = check_protocol(&servers) {
        return Ok(vec![DoctorFinding::new(
            FindingCode::FleetProtocolDiffers,
            place,
            unfit.to_string(),
        )]);
    }
    let (version, end) = read_folder_end(folder)?;
    let failed =
        |error: FleetError| CommandFailure::broken("cannot read the data of the fleet", &error);
    let found = [
        (FindingCode::FleetStreamAltered, commits.altered_settings().map_err(failed)?),
        (FindingCode::FleetRecordBroken, commits.verify().map_err(failed)?),
        (FindingCode::FleetFolderDiffers, commits.compare_folder(version, end).map_err(failed)?),
    ];
    let findings =
        found.into_iter().flat_map(|(code, texts)| texts.into_iter().map(move |text| (code, text)));
    Ok(findings.map(|(code, text)| DoctorFinding::new(code, &place, text)).collect())
}

/// Returns the addresses of the servers, without credentials.
pub(crate) fn servers_without_credentials(config: &Config) -> String {
    let options = FleetOptions::parse(config.store.as_deref().unwrap_or_default());
    options.map_or_else(|_| "store".to_owned(), |options| options.display_addresses())
}

/// Returns the policy of the fleet, made from the nodes that are up and their agents. `None` means
/// no node is up.
pub(crate) fn policy(
    folder: &DataFolder,
    config: &Config,
) -> Result<Option<Policy>, CommandFailure> {
    let servers = connect(folder, config)?;
    let known = KnownNodes::fetch(&servers)?;
    Ok((!known.0.is_empty()).then(|| known.policy(config.policy())))
}

/// Publishes this folder as the fleet's data, on servers that have none.
pub(crate) fn restore(
    folder: &DataFolder,
    config: &Config,
) -> Result<StoreVersion, CommandFailure> {
    let me = own_identity(config)?;
    let servers = connect(folder, config)?;
    agree_on_protocol(&servers)?;
    let (store, _) = servers.restore(folder, me.node.as_str())?;
    Ok(store.version())
}

/// Returns the identity of this node.
pub(crate) fn own_identity(config: &Config) -> Result<NodeIdentity, CommandFailure> {
    let named = config.nats.node.clone().unwrap_or_else(short_host_name);
    let node = NodeId::parse(&named).map_err(|bad| {
        CommandFailure::report_usage_error(format!(
            "{named:?} cannot be the name of a node: it {bad}"
        ))
        .with_hint("name this machine: `node = \"…\"` in [nats] of adjutant.toml")
    })?;
    Ok(NodeIdentity { node, labels: config.nats.labels.clone(), term: config.nats.term.0 })
}

/// Returns the host name up to its first dot.
fn short_host_name() -> String {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Returns the key of this node with the keys of its fleet.
fn own_signer(config: &Config, root: &Path) -> Result<NodeSigner, CommandFailure> {
    let node = own_identity(config)?.node;
    let path = root.join(&config.nats.node_key);
    if !path.exists() {
        let why = format!("this node has no key, because there is no file {}", path.display());
        return Err(key_failure(&OptionsError(vec![why])));
    }
    let key = read_key(&path)?;
    let accepted = AcceptedKeys::parse(&config.nats.accepted_keys).map_err(|error| {
        CommandFailure::report_usage_error(format!(
            "`accepted_keys` in [nats] of adjutant.toml cannot be used: {error}"
        ))
        .with_hint("write a line for each node as `adjutant fleet key` prints it there")
    })?;
    NodeSigner::new(node, key, accepted).map_err(|error| key_failure(&error))
}

fn key_failure(error: &OptionsError) -> CommandFailure {
    CommandFailure::report_usage_error(format!("cannot join the fleet: {error}")).with_hint(
        "run `adjutant fleet key`, and add the line it prints to `accepted_keys` in [nats] of \
         adjutant.toml on every node",
    )
}

fn nats_options(config: &Config, root: &Path) -> Result<FleetOptions, CommandFailure> {
    let nats = &config.nats;
    let inside = |path: &PathBuf| root.join(path);
    let store = config.store.as_deref().unwrap_or_default();
    let options = FleetOptions::parse(store).map_err(|error| {
        CommandFailure::report_usage_error(format!("the setting `store` cannot be used: {error}"))
            .with_hint("write store = \"nats://host:port,host:port,host:port\" in adjutant.toml")
    })?;
    let signer = own_signer(config, root)?;
    let login_seed = match &nats.nkey {
        Some(path) => Some(LoginSeed(read_key(&root.join(path))?.seed().to_owned())),
        None => None,
    };
    let client = nats.cert.as_ref().zip(nats.key.as_ref());
    // The client would wait for ever for a pipe.
    for path in [&nats.credentials, &nats.ca, &nats.cert, &nats.key].into_iter().flatten() {
        let path = inside(path);
        open_regular(&path).map_err(|source| join_failure(&FleetError::File { path, source }))?;
    }
    Ok(FleetOptions {
        prefix: nats.prefix.clone(),
        signer: Some(signer),
        login_seed,
        credentials: nats.credentials.as_ref().map(inside),
        tls: TlsFiles {
            ca: nats.ca.as_ref().map(inside),
            client: client.map(|(cert, key)| (inside(cert), inside(key))),
        },
        durability: match nats.durability {
            Asked::Strict => DurabilityLevel::Strict,
            Asked::Relaxed => DurabilityLevel::Relaxed,
        },
        retry_timeout: REQUEST_TIMEOUT,
        ..options
    })
}
