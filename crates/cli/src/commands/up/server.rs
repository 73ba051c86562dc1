//! Starts the daemon's HTTP server and writes down its address.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_config::{ListenSetting, OPERATOR_TOKEN_FILE};
use adjutant_daemon::{DaemonInfo, ExitCondition, HttpEndpointFile, ProjectDaemon};
use adjutant_query::ProjectQueries;
use adjutant_server::http::{
    BoundServer, ListenAddress, ServerSettings, ServerStartError, TlsFileError, TokenFileError,
    TransportSecurity,
};
use adjutant_server::project_access::ProjectAccess;
use adjutant_store::FleetNetwork;

use crate::caller::operator;
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// What the command line asks of the server.
pub(super) struct ServerRequest {
    pub(super) listen: Option<ListenSetting>,
    pub(super) insecure: bool,
    pub(super) until: ExitCondition,
}

/// Returns the file with the operator's token.
pub(crate) fn token_path(data: &ProjectData) -> PathBuf {
    let named =
        data.config().server.token_file.as_deref().unwrap_or(Path::new(OPERATOR_TOKEN_FILE));
    data.folder.root().join(named)
}

/// Binds the address. Returns `None` if HTTP is off, or if no address was asked for and the default
/// cannot be bound.
pub(super) fn bind_server(
    data: &ProjectData,
    asked: &ServerRequest,
    me: &DaemonInfo,
    out: &CommandOutput,
) -> Result<Option<BoundServer>, CommandFailure> {
    let server = &data.config().server;
    let address = match asked.listen.or(server.listen) {
        Some(ListenSetting::Off) => return Ok(None),
        Some(ListenSetting::At(address)) => ListenAddress::Exact(address),
        // A daemon that ends by itself does not run long enough to be of use over HTTP.
        None if asked.until == ExitCondition::Idle => return Ok(None),
        None => ListenAddress::Preferred(ListenSetting::DEFAULT),
    };
    let settings = ServerSettings {
        address,
        hosts: server.hosts.clone(),
        token_file: token_path(data),
        transport: transport_security(data, asked.insecure),
        daemon: me.identity(),
        operator: operator(),
    };
    match (BoundServer::bind(settings), address) {
        (Ok(bound_server), _) => Ok(Some(bound_server)),
        (
            Err(error @ (ServerStartError::Address(..) | ServerStartError::Io(_))),
            ListenAddress::Preferred(_),
        ) => {
            let why = CommandFailure::broken("", &error).causes.join(": ");
            out.warn(&format!("continuing without the board and the HTTP API: {why}"));
            Ok(None)
        }
        (Err(error), _) => Err(failure(&error)),
    }
}

fn transport_security(data: &ProjectData, insecure: bool) -> TransportSecurity {
    let (root, server) = (data.folder.root(), &data.config().server);
    match (&server.tls_cert, &server.tls_key) {
        (Some(cert), Some(key)) => {
            TransportSecurity::Tls { cert: root.join(cert), key: root.join(key) }
        }
        _ if insecure => TransportSecurity::Insecure,
        _ => TransportSecurity::Loopback,
    }
}

/// Writes the address to the data folder. The socket is bound but not yet served, so a client that
/// sees the daemon up finds this file.
pub(super) fn write_address(
    data: &ProjectData,
    bound_server: &BoundServer,
) -> Result<HttpEndpointFile, CommandFailure> {
    let failed =
        |error| CommandFailure::broken("cannot write the address of the HTTP server", &error);
    let place = HttpEndpointFile {
        pid: std::process::id(),
        url: bound_server.url(),
        login: bound_server.login_url().map_err(failed)?,
    };
    place.write(data.folder.root()).map_err(failed)?;
    Ok(place)
}

/// Serves HTTP as long as the daemon runs.
pub(super) fn serve(
    data: ProjectData,
    bound_server: BoundServer,
    daemon: &mut ProjectDaemon,
    net: Option<Arc<dyn FleetNetwork>>,
) -> Result<(), CommandFailure> {
    let client = daemon.client();
    client.on_commit(bound_server.commit_notifier());
    client.on_activity(bound_server.activity_counter());
    let queries = ProjectQueries::for_daemon(
        data.folder,
        daemon.shared_config(),
        &client,
        net,
        CommandOutput::print_warning,
    )?;
    let project = ProjectAccess::new(queries, Box::new(client)).with_redactor(daemon.redactor());
    let project = Arc::new(project);
    let failed = |error| CommandFailure::broken("cannot start the HTTP server", &error);
    daemon.attach(Box::new(bound_server.serve(project).map_err(failed)?));
    Ok(())
}

fn failure(error: &ServerStartError) -> CommandFailure {
    let failure = CommandFailure::broken("cannot start the HTTP server", error);
    match error {
        ServerStartError::Address(..) => failure.with_hint(
            "use `--listen 127.0.0.1:0` for any free port, or `--listen off` for no server",
        ),
        ServerStartError::TokenNotSetUp(_, TokenFileError::Missing(path)) => {
            failure.with_hint(format!(
                "create one that only you can read: `(umask 077; openssl rand -hex 32 > {})`",
                path.display()
            ))
        }
        ServerStartError::Token(TokenFileError::ReadableByOthers(path)) => {
            failure.with_hint(format!("run `chmod 600 {}`", path.display()))
        }
        ServerStartError::NotEncrypted(_) => failure.with_hint(
            "set `tls_cert` and `tls_key` in [server]; or call `adjutant up --insecure` if a proxy \
             with TLS or a private network protects the connections",
        ),
        ServerStartError::Tls(TlsFileError::ReadableByOthers(path)) => {
            failure.with_hint(format!("run `chmod o-rwx {}`", path.display()))
        }
        ServerStartError::Token(_)
        | ServerStartError::Tls(_)
        | ServerStartError::TokenNotSetUp(..)
        | ServerStartError::Io(_) => failure,
    }
}
