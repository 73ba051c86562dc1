//! The process of the agent: its pipes, line by line, and its end.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures::channel::mpsc;
use futures::executor::{block_on, block_on_stream};
use futures::{Sink, SinkExt, Stream};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::tell::Teller;
use crate::tools::Tools;

/// The longest message that is read.
const LINE_BYTES_MAX: usize = 32 << 20;
/// The same, as it is told.
pub(crate) const LINE_MIB_MAX: usize = LINE_BYTES_MAX >> 20;
/// How many messages may wait.
const LINES_MAX: usize = 64;
/// How long an agent may take to leave once its input is closed, and once it was asked to.
const LEAVE: Duration = Duration::from_secs(2);
/// How long its last words may take to get here once it has left.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How much of a line of its log is passed on at a time.
const LOG_BYTES_MAX: u64 = 16 << 10;
/// The time between two looks whether it has left.
const PAUSE: Duration = Duration::from_millis(10);

/// The process of the agent.
pub(crate) struct Peer {
    child: Child,
    log: Option<JoinHandle<()>>,
    incoming: mpsc::Receiver<io::Result<String>>,
    outgoing: mpsc::UnboundedSender<String>,
    pub(crate) tools: Tools,
    heard: Arc<Heard>,
}

/// What was seen in what the agent sends.
#[derive(Default)]
pub(crate) struct Heard {
    /// Whether what it tells of a session is new, and not what was before.
    pub(crate) is_new: AtomicBool,
    /// Whether a message was too long.
    pub(crate) too_long: AtomicBool,
    /// The last line that was no message.
    pub(crate) noise: Mutex<Option<String>>,
}

/// What is left of a peer when its pipes are in use.
pub(crate) struct Body {
    child: Child,
    log: Option<JoinHandle<()>>,
    pub(crate) heard: Arc<Heard>,
}

impl Peer {
    /// Starts the agent in a group of its own. Its log is passed on line by line.
    pub(crate) fn start(
        command: &[String],
        folder: &Path,
        teller: Arc<Teller>,
    ) -> io::Result<Self> {
        let [program, args @ ..] = command else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no command"));
        };
        // A program that is named by a path is looked for from the folder.
        let program = if program.contains('/') { folder.join(program) } else { program.into() };
        let mut command = Command::new(program);
        command.args(args).current_dir(folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stderr = child.stderr.take();
        let log = stderr.map(|stderr| {
            let teller = Arc::clone(&teller);
            std::thread::spawn(move || pass_on(stderr, &teller))
        });
        let (outgoing, to_write) = mpsc::unbounded();
        let (read, incoming) = mpsc::channel(LINES_MAX);
        let (tools, heard) = (Tools::default(), Arc::<Heard>::default());
        if let Some(stdin) = child.stdin.take() {
            std::thread::spawn(move || write(stdin, to_write));
        }
        if let Some(stdout) = child.stdout.take() {
            let reader = Reader { tools: tools.clone(), heard: Arc::clone(&heard), teller };
            std::thread::spawn(move || reader.read(stdout, read));
        }
        Ok(Self { child, log, incoming, outgoing, tools, heard })
    }

    /// Takes the pipes and the process apart.
    pub(crate) fn split(
        self,
    ) -> (
        Body,
        impl Sink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
    ) {
        let broken = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        let body = Body { child: self.child, log: self.log, heard: self.heard };
        (body, self.outgoing.sink_map_err(broken), self.incoming)
    }
}

impl Body {
    /// Ends the agent, now that its input is closed: it may leave, is asked to, and is killed.
    /// Returns how it ended by itself, if it did.
    pub(crate) fn end(mut self) -> Option<String> {
        let by_itself = self.wait(LEAVE).map(in_words);
        if by_itself.is_none() {
            self.signal(Signal::TERM);
            if self.wait(LEAVE).is_none() {
                self.signal(Signal::KILL);
                let _ = self.child.wait();
            }
        }
        self.hear_out();
        by_itself
    }

    /// Lets the last words of the agent be passed on. Something that it left behind may hold the
    /// other end open, and is not waited for.
    fn hear_out(&self) {
        let until = Instant::now() + LAST_WORDS;
        while self.log.as_ref().is_some_and(|log| !log.is_finished()) && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
    }

    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(PAUSE),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// Signals the group of the agent, and with it what it started and did not set apart.
    fn signal(&self, signal: Signal) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            let _ = kill_process_group(group, signal);
        }
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Writes lines until nobody sends any more or nobody reads them, and closes the pipe.
fn write(mut stdin: ChildStdin, lines: mpsc::UnboundedReceiver<String>) {
    for line in block_on_stream(lines) {
        if writeln!(stdin, "{line}").and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Passes a log on until its other end is closed.
fn pass_on(log: ChildStderr, teller: &Teller) {
    let mut log = BufReader::new(log);
    loop {
        let mut line = Vec::new();
        match log.by_ref().take(LOG_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => teller.log(String::from_utf8_lossy(&line).trim_end()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

struct Reader {
    tools: Tools,
    heard: Arc<Heard>,
    teller: Arc<Teller>,
}

impl Reader {
    /// Reads lines until the other end is closed. What is no message is passed on as output: some
    /// greet people before they speak the protocol.
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
                    let error = io::Error::new(io::ErrorKind::InvalidData, "too long");
                    return drop(block_on(to.send(Err(error))));
                }
                Ok(_) => {
                    if let Some(line) = self.hear(&line)
                        && block_on(to.send(Ok(line))).is_err()
                    {
                        return;
                    }
                }
            }
        }
    }

    /// Tells of updates, and returns the line if it is a message.
    fn hear(&self, line: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let Some(message) = serde_json::from_str::<Value>(text).ok().filter(Value::is_object)
        else {
            let noise = text.to_owned();
            self.teller.noise(&noise);
            *self.heard.noise.lock().unwrap_or_else(PoisonError::into_inner) = Some(noise);
            return None;
        };
        if message["method"] == "session/update" {
            let update = &message["params"]["update"];
            self.tools.hear(update);
            if self.heard.is_new.load(Ordering::Acquire) {
                self.teller.update(update);
            }
        }
        Some(text.to_owned())
    }
}
