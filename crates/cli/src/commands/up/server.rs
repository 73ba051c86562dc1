//! The HTTP server of a daemon: where it listens, and what is said about that.

use std::path::PathBuf;
use std::sync::Arc;

use adjutant_api::http::{Address, BadToken, Door, NotOpen, Settings};
use adjutant_runtime::config::Listen;
use adjutant_runtime::daemon::{Daemon, Place, Until};
use adjutant_store::Net;

use crate::data::Data;
use crate::error::Failure;
use crate::office::FolderOffice;
use crate::output::Output;
use crate::person::operator;

/// The file with the operator's token in the data folder, if none is named.
const TOKEN_FILE: &str = "operator-token";

/// Takes the address to listen at; none if there shall be none, or nobody asked for one and none
/// can be had.
pub(super) fn find(
    data: &Data,
    asked: Option<Listen>,
    until: Until,
    out: &Output,
) -> Result<Option<Door>, Failure> {
    let server = &data.config().server;
    let address = match asked.or(server.listen) {
        Some(Listen::Off) => return Ok(None),
        Some(Listen::At(address)) => Address::Asked(address),
        // Nobody has the time to come to one that ends by itself.
        None if until == Until::Idle => return Ok(None),
        None => Address::Usual(Listen::DEFAULT),
    };
    let named = server.token_file.clone().unwrap_or(PathBuf::from(TOKEN_FILE));
    let settings = Settings {
        address,
        hosts: server.hosts.clone(),
        token_file: data.folder.root().join(named),
        operator: operator(),
    };
    match (Door::find(settings), address) {
        (Ok(door), _) => Ok(Some(door)),
        (Err(error @ (NotOpen::Address(..) | NotOpen::Io(_))), Address::Usual(_)) => {
            let why = Failure::broken("", &error).causes().join(": ");
            out.warn(&format!("goes on without HTTP: {why}"));
            Ok(None)
        }
        (Err(error), _) => Err(failure(&error)),
    }
}

/// Writes down where callers may come. They wait to be let in, so that whoever sees that the daemon
/// is up finds this.
pub(super) fn announce(data: &Data, door: &Door) -> Result<Place, Failure> {
    let place = Place { pid: std::process::id(), url: door.url(), login: door.login() };
    let failed = |error| Failure::broken("cannot write down where callers may come", &error);
    place.write(data.folder.root()).map_err(failed)?;
    Ok(place)
}

/// Lets callers in for as long as the daemon works.
pub(super) fn open(
    data: Data,
    door: Door,
    daemon: &mut Daemon,
    net: Option<Arc<dyn Net>>,
) -> Result<(), Failure> {
    let client = daemon.client();
    client.listen(door.bell());
    client.measure(door.meter());
    let office = Arc::new(FolderOffice::of_daemon(data, client, net)?);
    let failed = |error| Failure::broken("cannot start the HTTP server", &error);
    daemon.attach(Box::new(door.open(office).map_err(failed)?));
    Ok(())
}

fn failure(error: &NotOpen) -> Failure {
    let failure = Failure::broken("cannot start the HTTP server", error);
    match error {
        NotOpen::Address(..) => {
            failure.hint("`--listen 127.0.0.1:0` takes any port, `--listen off` none")
        }
        NotOpen::Unguarded(_, BadToken::Missing(path)) => failure.hint(format!(
            "make one for its owner only: (umask 077; openssl rand -hex 32 > {})",
            path.display()
        )),
        NotOpen::Token(BadToken::Open(path)) => {
            failure.hint(format!("chmod 600 {}", path.display()))
        }
        NotOpen::Token(_) | NotOpen::Unguarded(..) | NotOpen::Io(_) => failure,
    }
}
