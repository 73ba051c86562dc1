//! The proxy of one command in a `strict` sandbox, with its socket in a folder that only the sandbox
//! shows.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use adjutant_core::network::{AllowedHost, HostRules};
use adjutant_run_files::attempt_files::AttemptFolder;
use tempfile::TempDir;

use super::NetworkProxy;

/// The folder with the socket of the proxy, as a sandbox shows it.
pub(crate) const PROXY_FOLDER: &str = "/adjutant-network";

const SOCKET: &str = "proxy.sock";

/// The command of this program that starts a forwarder and waits until it listens.
const FORWARDER_COMMAND: [&str; 2] = ["network-forwarder", "--start"];

/// The proxy of a command. It must live as long as the command.
pub struct SandboxProxy {
    folder: TempDir,
    ports: Vec<u16>,
    _proxy: NetworkProxy,
}

impl SandboxProxy {
    /// Starts a proxy for these hosts. Refused hosts are noted in the folder of an attempt.
    pub(crate) fn start(hosts: &[String], attempt: Option<&AttemptFolder>) -> io::Result<Self> {
        let parse = |host: &String| AllowedHost::parse(host).map_err(io::Error::other);
        let rules = HostRules::new(hosts.iter().map(parse).collect::<io::Result<_>>()?);
        let ports = rules.loopback_ports();
        let folder = tempfile::Builder::new().prefix("adjutant-network-").tempdir()?;
        let socket = folder.path().join(SOCKET);
        let proxy = match attempt {
            Some(attempt) => NetworkProxy::start_for_run(&socket, rules, attempt)?,
            None => NetworkProxy::start(&socket, rules, |_| ())?,
        };
        Ok(Self { folder, ports, _proxy: proxy })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the ports of this machine that the command may use.
    pub(crate) fn ports(&self) -> &[u16] {
        &self.ports
    }
}

/// Starts the forwarder from inside the sandbox, and returns when it listens. It is no child of this
/// process, which becomes a command that may wait for all its children.
pub(crate) fn start_forwarder(ports: &[u16]) -> io::Result<()> {
    let socket = PathBuf::from(PROXY_FOLDER).join(SOCKET);
    let ports = ports.iter().map(|port| OsString::from(port.to_string()));
    let mut command = Command::new(std::env::current_exe()?);
    let started = command.args(FORWARDER_COMMAND).arg(socket).args(ports).output()?;
    if started.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&started.stderr).trim().to_owned();
    Err(io::Error::other(format!("the way to the proxy cannot be made: {why}")))
}
