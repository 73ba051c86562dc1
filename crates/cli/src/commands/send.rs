//! `adjutant send`: submits messages and prints the answer to each.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use adjutant_core::protocols::aof::MESSAGE_BYTES_MAX;
use adjutant_engine::{EngineAnswer, EngineRequest, Request};
use adjutant_model::request::MessageOrigin;

use crate::data::ProjectData;
use crate::folder_writer::FolderWriter;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::run_connection::RunConnection;
use crate::run_environment::RunEnvironment;
use crate::view::answer;

/// Send a message or document in any protocol, and print the answer
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Accepted are an AOF/1 message (a JSON envelope, or a line `AOF/1 {…}`), a mission or a result \
(YAML or JSON), and a `new_task` or an `attempt_completion` (JSON). Other text is ignored.
A mission or a `new_task` creates a task; a result or an `attempt_completion` reports on one.
`adjutant check` validates a message without sending it.
Exit code: 1 if a message was rejected or has an unknown type, else 0.

Examples:
  adjutant send mission.yaml               create a task from a mission
  adjutant send --lines < messages.jsonl   send many messages")]
pub(crate) struct SendMessageArgs {
    /// The file with the message; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Read one message per line, and print one answer per line
    #[arg(long)]
    lines: bool,
}

/// The most messages that share one commit.
const GROUP_MAX: usize = 256;

/// Where the messages are sent.
enum MessageSender {
    /// The socket of the calling run.
    Run(RunConnection),
    Folder(Box<ProjectData>, FolderWriter),
}

impl MessageSender {
    fn submit(
        &mut self,
        requests: Vec<EngineRequest>,
    ) -> Result<Vec<EngineAnswer>, CommandFailure> {
        match self {
            Self::Run(connection) => connection.submit(&requests),
            Self::Folder(data, writer) => data.submit_to(writer, requests),
        }
    }
}

impl SendMessageArgs {
    pub(crate) fn run(
        self,
        data: impl FnOnce() -> Result<ProjectData, CommandFailure>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let input = open(&self.file)?;
        let mut sender = if let Some(connection) = RunConnection::from_env() {
            MessageSender::Run(connection)
        } else {
            let data = data()?;
            let writer = data.open_writer()?;
            MessageSender::Folder(Box::new(data), writer)
        };
        let sent = if self.lines {
            send_lines(&mut sender, input, out)
        } else {
            send_one(&mut sender, read_limited(input, &self.file)?, out)
        };
        if let MessageSender::Folder(_, writer) = &mut sender {
            writer.rest(out);
        }
        let refused = sent.map_err(closed_pipe_is_failure)?;
        Ok(ExitCode::from(u8::from(refused)))
    }
}

/// Turns a closed pipe into an error: a listing may be cut short, but an answer must be read.
pub(super) fn closed_pipe_is_failure(failure: CommandFailure) -> CommandFailure {
    if !failure.is_output_closed() {
        return failure;
    }
    let closed = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    CommandFailure::broken("cannot write the answers", &closed)
        .with_hint("`adjutant events` shows which messages were applied")
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>, CommandFailure> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path).map_err(|error| {
        CommandFailure::broken(format!("cannot read {}", path.display()), &error)
    })?;
    Ok(Box::new(file))
}

/// Reads at most one byte more than a message may have, enough to see that it is too large.
fn read_limited(input: impl Read, path: &Path) -> Result<Vec<u8>, CommandFailure> {
    let mut raw = Vec::new();
    let read = input.take(MESSAGE_BYTES_MAX as u64 + 1).read_to_end(&mut raw);
    read.map_err(|error| {
        CommandFailure::broken(format!("cannot read {}", path.display()), &error)
    })?;
    Ok(raw)
}

fn send_one(
    sender: &mut MessageSender,
    raw: Vec<u8>,
    out: &CommandOutput,
) -> Result<bool, CommandFailure> {
    send_group(sender, vec![raw], out)
}

/// Submits a group of messages, prints the answers, and returns whether any was refused.
fn send_group(
    sender: &mut MessageSender,
    group: Vec<Vec<u8>>,
    out: &CommandOutput,
) -> Result<bool, CommandFailure> {
    let inside = RunEnvironment::from_env("").ok();
    let origin = inside.map_or(MessageOrigin::Outside, |RunEnvironment { task, token, .. }| {
        MessageOrigin::InsideRun { task, token }
    });
    let request = |text| Request::Message { origin: origin.clone(), text }.into();
    let requests: Vec<EngineRequest> = group.into_iter().map(request).collect();
    let mut refused = false;
    for answered in sender.submit(requests)? {
        refused |= answer::is_refused(&answered);
        answer::print(out, &answered)?;
    }
    Ok(refused)
}

/// Submits all lines that are available as one group, so that a long file needs few commits and a
/// single line is answered at once.
fn send_lines(
    sender: &mut MessageSender,
    input: Box<dyn Read + Send>,
    out: &CommandOutput,
) -> Result<bool, CommandFailure> {
    let (queue, lines) = sync_channel(2 * GROUP_MAX);
    let reader =
        thread::spawn(move || read_lines(BufReader::with_capacity(1 << 16, input), &queue));
    let mut refused = false;
    while let Some(group) = next_group(&lines) {
        refused |= send_group(sender, group, out)?;
    }
    match reader.join() {
        Ok(Ok(())) => Ok(refused),
        Ok(Err(error)) => Err(CommandFailure::broken("cannot read the messages", &error)),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn next_group(lines: &Receiver<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    let mut group = vec![lines.recv().ok()?];
    let mut bytes = group[0].len();
    while group.len() < GROUP_MAX && bytes < MESSAGE_BYTES_MAX {
        let Ok(line) = lines.try_recv() else { break };
        bytes += line.len();
        group.push(line);
    }
    Some(group)
}

fn read_lines(mut input: impl BufRead, queue: &SyncSender<Vec<u8>>) -> std::io::Result<()> {
    while let Some(line) = read_line(&mut input)? {
        if queue.send(line).is_err() {
            break;
        }
    }
    Ok(())
}

/// Reads a line, and skips what exceeds the largest message.
fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let limit = MESSAGE_BYTES_MAX as u64 + 2;
    if input.take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_none() && line.len() as u64 == limit {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}
