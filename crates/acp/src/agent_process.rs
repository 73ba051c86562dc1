//! The agent process: its pipes, read line by line, and its termination.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures::channel::mpsc;
use futures::executor::{block_on, block_on_stream};
use futures::{Sink, SinkExt, Stream};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::report_writer::ReportWriter;
use crate::tool_calls::ToolCallCache;

/// The longest message accepted from the agent.
const LINE_BYTES_MAX: usize = 32 << 20;
/// The same limit in MiB, for error messages.
pub(crate) const LINE_MIB_MAX: usize = LINE_BYTES_MAX >> 20;
/// How many messages may be queued.
const LINES_MAX: usize = 64;
/// How long the agent may take to exit after its input is closed, and again after SIGTERM.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait for the rest of the agent's log after it has exited.
const LOG_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// How much of a log line is forwarded at a time.
const LOG_BYTES_MAX: u64 = 16 << 10;
/// The interval between two checks whether the agent has exited.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct AgentProcess {
    child: Child,
    log: Option<JoinHandle<()>>,
    incoming: mpsc::Receiver<io::Result<String>>,
    outgoing: mpsc::UnboundedSender<String>,
    pub(crate) tools: ToolCallCache,
    heard: Arc<OutputState>,
}

/// State that the reader thread shares with the conversation.
#[derive(Default)]
pub(crate) struct OutputState {
    /// Whether session updates are reported. Updates before that replay an earlier session.
    pub(crate) reports_updates: AtomicBool,
    pub(crate) too_long: AtomicBool,
    /// The last output line that was not a protocol message.
    pub(crate) last_noise: Mutex<Option<String>>,
}

/// The agent process without its pipes, which the conversation uses.
pub(crate) struct ProcessHandle {
    child: Child,
    log: Option<JoinHandle<()>>,
    pub(crate) heard: Arc<OutputState>,
}

impl AgentProcess {
    /// Starts the agent in its own process group and forwards its log line by line.
    pub(crate) fn start(
        command: &[String],
        folder: &Path,
        report_writer: Arc<ReportWriter>,
    ) -> io::Result<Self> {
        let [program, args @ ..] = command else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
        };
        // A program given as a path is resolved relative to the folder.
        let program = if program.contains('/') { folder.join(program) } else { program.into() };
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stderr = child.stderr.take();
        let log = stderr.map(|stderr| {
            let report_writer = Arc::clone(&report_writer);
            std::thread::spawn(move || forward_log(stderr, &report_writer))
        });
        let (outgoing, to_write) = mpsc::unbounded();
        let (read, incoming) = mpsc::channel(LINES_MAX);
        let (tools, heard) = (ToolCallCache::default(), Arc::<OutputState>::default());
        if let Some(stdin) = child.stdin.take() {
            std::thread::spawn(move || write_lines(stdin, to_write));
        }
        if let Some(stdout) = child.stdout.take() {
            let reader =
                MessageReader { tools: tools.clone(), heard: Arc::clone(&heard), report_writer };
            std::thread::spawn(move || reader.read(stdout, read));
        }
        Ok(Self { child, log, incoming, outgoing, tools, heard })
    }

    /// Separates the process from its pipes.
    pub(crate) fn split(
        self,
    ) -> (
        ProcessHandle,
        impl Sink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
    ) {
        let broken = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        let body = ProcessHandle { child: self.child, log: self.log, heard: self.heard };
        (body, self.outgoing.sink_map_err(broken), self.incoming)
    }
}

impl ProcessHandle {
    /// Ends the agent after its input was closed: waits for it to exit, then sends SIGTERM, then
    /// SIGKILL. Returns how the agent exited if it needed no signal.
    pub(crate) fn end(mut self) -> Option<String> {
        let by_itself = self.wait(EXIT_TIMEOUT).map(describe_exit);
        if by_itself.is_none() {
            self.signal(Signal::TERM);
            if self.wait(EXIT_TIMEOUT).is_none() {
                self.signal(Signal::KILL);
                let _ = self.child.wait();
            }
        }
        self.drain_log();
        by_itself
    }

    /// Waits for the rest of the agent's log to be forwarded. The wait is bounded because a process
    /// that the agent left behind may hold the pipe open.
    fn drain_log(&self) {
        let until = Instant::now() + LOG_DRAIN_TIMEOUT;
        while self.log.as_ref().is_some_and(|log| !log.is_finished()) && Instant::now() < until {
            std::thread::sleep(EXIT_POLL_INTERVAL);
        }
    }

    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(EXIT_POLL_INTERVAL),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Signals the agent's process group, which includes child processes that did not leave it.
    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            let _ = kill_process_group(group, signal);
        }
    }
}

fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Writes lines until the senders are gone or the pipe is closed.
fn write_lines(mut stdin: ChildStdin, lines: mpsc::UnboundedReceiver<String>) {
    for line in block_on_stream(lines) {
        if writeln!(stdin, "{line}").and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Forwards the log until the agent closes it.
fn forward_log(log: ChildStderr, report_writer: &ReportWriter) {
    let mut log = BufReader::new(log);
    loop {
        let mut line = Vec::new();
        match log.by_ref().take(LOG_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => report_writer.write_log(String::from_utf8_lossy(&line).trim_end()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

struct MessageReader {
    tools: ToolCallCache,
    heard: Arc<OutputState>,
    report_writer: Arc<ReportWriter>,
}

impl MessageReader {
    /// Reads lines until the agent closes the pipe. Lines that are not protocol messages are
    /// forwarded as output: some agents print a greeting first.
    fn read(&self, stdout: ChildStdout, mut to: mpsc::Sender<io::Result<String>>) {
        let mut stdout = BufReader::with_capacity(64 << 10, stdout);
        loop {
            let mut line = Vec::new();
            let most = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
            let read = stdout.by_ref().take(most + 1).read_until(b'\n', &mut line);
            match read {
                Ok(0) => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return drop(block_on(to.send(Err(error)))),
                Ok(_) if line.len() > LINE_BYTES_MAX => {
                    self.heard.too_long.store(true, Ordering::Release);
                    let what = "the message is too long";
                    let error = io::Error::new(io::ErrorKind::InvalidData, what);
                    return drop(block_on(to.send(Err(error))));
                }
                Ok(_) => {
                    if let Some(line) = self.handle_line(&line)
                        && block_on(to.send(Ok(line))).is_err()
                    {
                        return;
                    }
                }
            }
        }
    }

    /// Reports session updates, and returns the line if it is a protocol message.
    fn handle_line(&self, line: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let Some(message) = serde_json::from_str::<Value>(text).ok().filter(Value::is_object)
        else {
            let noise = text.to_owned();
            self.report_writer.write_raw(&noise);
            *self.heard.last_noise.lock() = Some(noise);
            return None;
        };
        if message["method"] == "session/update" {
            let update = &message["params"]["update"];
            self.tools.record_update(update);
            if self.heard.reports_updates.load(Ordering::Acquire) {
                self.report_writer.write_update(update);
            }
        }
        Some(text.to_owned())
    }
}
