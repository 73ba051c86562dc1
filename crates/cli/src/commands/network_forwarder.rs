//! `adjutant network-forwarder`: the way to the proxy from inside the network namespace of a run.
//! Started by the sandbox only.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_runs::network::forwarder::{run_forwarder, start_forwarder_process};

use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Relay connections of a run to its proxy, and print a line when that is ready
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct NetworkForwarderArgs {
    /// Start it as a process of its own, and return when it listens
    #[arg(long)]
    start: bool,
    /// The socket of the proxy
    socket: PathBuf,
    /// Ports of the machine that the run may use
    ports: Vec<u16>,
}

impl NetworkForwarderArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        if self.start {
            start_forwarder_process(&self.socket, &self.ports)
                .map_err(|error| CommandFailure::broken("cannot start the forwarder", &error))?;
            return Ok(ExitCode::SUCCESS);
        }
        // Without a reader the run does not wait for it.
        let ready = || out.line("ready").map_err(|_| io::ErrorKind::BrokenPipe.into());
        run_forwarder(&self.socket, &self.ports, ready)
            .map_err(|error| CommandFailure::broken("cannot relay to the proxy", &error))?;
        Ok(ExitCode::SUCCESS)
    }
}
