//! Golden files of what processes and nodes say to each other, and of what they keep in files.

pub(crate) mod requests;
pub(crate) mod samples;

mod daemon_socket;
mod data_files;

use std::fmt::Write as _;

use serde::Serialize;

/// Returns values as lines of JSON, as they go over a socket.
pub(crate) fn json_lines<T: Serialize>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().fold(String::new(), |mut lines, value| {
        let line = serde_json::to_string(&value).expect("text and numbers make JSON");
        let _ = writeln!(lines, "{line}");
        lines
    })
}
