//! The input and the answer of a check's shim: one command, and how to execute it.

use std::path::PathBuf;

use adjutant_model::run::RunExit;
use serde::{Deserialize, Serialize};

use crate::live_shims::LiveShim;
use crate::sandbox_spec::CommandSandbox;

/// One line of JSON on the shim's standard input. The command ends when that input is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckSpec {
    /// The shell command. It gets the environment of the shim.
    pub command: String,
    /// The folder that the command works in.
    pub folder: PathBuf,
    pub timeout_ms: u64,
    pub sandbox: CommandSandbox,
    /// Which run the processes of the command are inside; `None` if there is no data folder.
    pub registration: Option<ShimRegistration>,
}

/// A record to write while the shim lives, and the data folder that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShimRegistration {
    pub data_root: PathBuf,
    pub record: LiveShim,
}

/// One line of JSON on the shim's standard output, followed by the bytes of both outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReply {
    pub exit: RunExit,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
}
