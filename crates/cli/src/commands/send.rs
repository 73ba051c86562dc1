//! `adjutant send`: takes messages, and says what became of each.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use adjutant_core::aof::MESSAGE_BYTES_MAX;
use adjutant_runtime::Request;

use crate::data::{Data, Writer};
use crate::error::Failure;
use crate::inside::Inside;
use crate::output::Output;
use crate::view::answer;

/// Take in a message, and say what became of it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A message is a JSON envelope of AOF/1, or a line `AOF/1 {…}`; a mission or a \
    result, in YAML or JSON; or a `new_task` or an `attempt_completion`, in JSON. Other text is \
    ignored.\nA mission and a `new_task` make a task; a result and an `attempt_completion` say what \
    came of one.\n`adjutant check` validates a message without sending it.\n\
    Exit code: 1 if a message was rejected or of an unknown type, else 0."
)]
pub(crate) struct Send {
    /// A file with the message; `-` is standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// One message a line, one answer a line
    #[arg(long)]
    lines: bool,
}

/// The most messages that share one commit.
const GROUP_MAX: usize = 256;

impl Send {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let input = open(&self.file)?;
        let mut writer = data.writer()?;
        let sent = if self.lines {
            send_lines(&mut writer, input, out)
        } else {
            send_one(&mut writer, read_limited(input, &self.file)?, out)
        };
        writer.rest(out);
        if let Ok(inside) = Inside::find("") {
            inside.touch(data.folder.root());
        }
        let refused = sent.map_err(unheard)?;
        Ok(ExitCode::from(u8::from(refused)))
    }
}

/// A listing that nobody reads on is fine; an answer that nobody reads is not.
pub(super) fn unheard(failure: Failure) -> Failure {
    if !failure.is_quiet() {
        return failure;
    }
    let closed = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
    Failure::broken("cannot write the answers", &closed)
        .hint("`adjutant events` shows which messages were taken in")
}

fn open(path: &Path) -> Result<Box<dyn Read + std::marker::Send>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path)
        .map_err(|error| Failure::broken(format!("cannot read {}", path.display()), &error))?;
    Ok(Box::new(file))
}

/// Reads one byte more than a message may have: enough to know that it is too large.
fn read_limited(input: impl Read, path: &Path) -> Result<Vec<u8>, Failure> {
    let mut raw = Vec::new();
    let read = input.take(MESSAGE_BYTES_MAX as u64 + 1).read_to_end(&mut raw);
    read.map_err(|error| Failure::broken(format!("cannot read {}", path.display()), &error))?;
    Ok(raw)
}

fn send_one(writer: &mut Writer, raw: Vec<u8>, out: &Output) -> Result<bool, Failure> {
    send_group(writer, vec![raw], out)
}

/// Sends a group of messages, prints the answers, and says whether any was refused.
fn send_group(writer: &mut Writer, group: Vec<Vec<u8>>, out: &Output) -> Result<bool, Failure> {
    let inside = Inside::find("").ok();
    let request = |raw| match &inside {
        Some(Inside { task, token, .. }) => {
            Request::Inside { task: task.clone(), token: token.clone(), raw }
        }
        None => Request::Message(raw),
    };
    let requests: Vec<Request> = group.into_iter().map(request).collect();
    let mut refused = false;
    for answered in writer.submit(&requests)? {
        refused |= answer::is_refused(&answered);
        answer::print(out, &answered)?;
    }
    Ok(refused)
}

/// Takes whatever lines are there as one group, so that a long file needs few commits and a
/// single line is answered at once.
fn send_lines(
    writer: &mut Writer,
    input: Box<dyn Read + std::marker::Send>,
    out: &Output,
) -> Result<bool, Failure> {
    let (queue, lines) = sync_channel(2 * GROUP_MAX);
    let reader =
        thread::spawn(move || read_lines(BufReader::with_capacity(1 << 16, input), &queue));
    let mut refused = false;
    while let Some(group) = next_group(&lines) {
        refused |= send_group(writer, group, out)?;
    }
    match reader.join() {
        Ok(Ok(())) => Ok(refused),
        Ok(Err(error)) => Err(Failure::broken("cannot read the messages", &error)),
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

/// Reads a line, but never more of it than is needed to know that it is too long.
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
