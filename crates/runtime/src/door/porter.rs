//! Lets guests in, and takes what they ask to the engine.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::visitor::Visitor;
use super::wire::{BadRequest, ReplyWire, RequestWire};
use super::{DOOR, LINE_BYTES_MAX, socket};
use crate::service::{Asked, Client, Unanswered};

/// The most guests at once; who comes on top of them is sent away, and opens the folder itself.
const GUESTS_MAX: usize = 256;

/// The most answers one guest may leave unread.
const UNREAD_MAX: usize = 256;

/// Whoever stands at the door. Only the one daemon of a folder may have one.
pub struct Porter {
    path: PathBuf,
    root: PathBuf,
    closing: Arc<AtomicBool>,
    guests: Arc<Guests>,
    thread: Option<JoinHandle<()>>,
}

impl Porter {
    /// Opens the door of a folder. A door that a dead daemon left is taken away.
    pub fn open(root: &Path, client: Client) -> io::Result<Self> {
        let path = root.join(DOOR);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = socket::bind(root, DOOR)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let closing = Arc::new(AtomicBool::new(false));
        let is_closing = Arc::clone(&closing);
        let guests = Arc::new(Guests::default());
        let inside = Arc::clone(&guests);
        let root_of = root.to_owned();
        let thread = thread::Builder::new()
            .name("porter".to_owned())
            .spawn(move || receive(&listener, &client, &root_of, &is_closing, &inside))?;
        Ok(Self { path, root: root.to_owned(), closing, guests, thread: Some(thread) })
    }

    fn close(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // The porter waits for somebody to come.
        let woken = socket::connect(&self.root, DOOR);
        let _ = std::fs::remove_file(&self.path);
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
        self.guests.hear_no_more();
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        self.close();
    }
}

fn receive(
    listener: &UnixListener,
    client: &Client,
    root: &Path,
    closing: &AtomicBool,
    guests: &Arc<Guests>,
) {
    for guest in listener.incoming() {
        if closing.load(Ordering::SeqCst) {
            return;
        }
        let Some((guest, seat)) = guest.ok().and_then(|guest| guests.seat(guest)) else { continue };
        let (client, root) = (client.clone(), root.to_owned());
        let serving = thread::Builder::new().name("guest".to_owned());
        // Without a thread for it, a guest finds the door shut.
        let _ = serving.spawn(move || {
            let _seat = seat;
            let who = Visitor::of(&guest, &root);
            let _ = serve(guest, &client, &who);
        });
    }
}

/// Everybody who is inside.
#[derive(Default)]
struct Guests {
    inside: Mutex<BTreeMap<u64, UnixStream>>,
    seats: AtomicU64,
}

/// The place of a guest; given back when it is dropped.
struct Seat {
    guests: Arc<Guests>,
    number: u64,
}

impl Guests {
    /// Lets a guest in, unless there are too many.
    fn seat(self: &Arc<Self>, guest: UnixStream) -> Option<(UnixStream, Seat)> {
        let number = self.seats.fetch_add(1, Ordering::SeqCst);
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if inside.len() >= GUESTS_MAX {
            return None;
        }
        inside.insert(number, guest.try_clone().ok()?);
        Some((guest, Seat { guests: Arc::clone(self), number }))
    }

    /// Takes no more requests from anybody. What was asked before is answered.
    fn hear_no_more(&self) {
        let inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        for guest in inside.values() {
            let _ = guest.shutdown(Shutdown::Read);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut inside = self.guests.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.remove(&self.number);
    }
}

/// What a line came to so far.
type Pending = Result<Asked, ReplyWire>;

/// Takes a guest's lines as they come, so that many of them share a commit, and answers in order.
fn serve(guest: UnixStream, client: &Client, who: &Visitor) -> io::Result<()> {
    let mut writer = guest.try_clone()?;
    let (queue, pending) = std::sync::mpsc::sync_channel::<Pending>(UNREAD_MAX);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut lines = BufReader::new(guest);
            while let Ok(Some(line)) = next_line(&mut lines) {
                if queue.send(ask(&line, client, who)).is_err() {
                    break;
                }
            }
        });
        for one in pending {
            let reply = match one {
                Ok(asked) => reply(asked),
                Err(reply) => reply,
            };
            let mut line = serde_json::to_vec(&reply)?;
            line.push(b'\n');
            writer.write_all(&line)?;
        }
        Ok(())
    })
}

fn next_line(lines: &mut BufReader<UnixStream>) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    lines.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok(line.pop_if(|last| *last == b'\n').map(|_| line))
}

fn ask(line: &[u8], client: &Client, who: &Visitor) -> Pending {
    let wire: RequestWire = serde_json::from_slice(line).map_err(|error| failed(&error))?;
    let request = wire.try_into().map_err(|BadRequest(what)| ReplyWire::Failed {
        message: "the request makes no sense".to_owned(),
        causes: vec![format!("{what} cannot be read")],
    })?;
    client.put(who.means(request)).map_err(|error| failed(&error))
}

fn reply(asked: Asked) -> ReplyWire {
    match asked.wait() {
        Ok(answered) => ReplyWire::Answered(Box::new((&answered).into())),
        Err(Unanswered::Store(error)) if error.is_silence() => {
            let (message, causes) = in_words(&*error);
            ReplyWire::Alone { message, causes }
        }
        Err(Unanswered::Store(error)) => failed(&*error),
        Err(error @ Unanswered::Stopped) => failed(&error),
    }
}

fn failed(error: &dyn Error) -> ReplyWire {
    let (message, causes) = in_words(error);
    ReplyWire::Failed { message, causes }
}

fn in_words(error: &dyn Error) -> (String, Vec<String>) {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    (error.to_string(), causes)
}
