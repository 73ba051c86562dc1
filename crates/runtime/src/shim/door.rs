//! `shim.sock`: where somebody can say stop, and hear that there is something to read.
//!
//! One JSON object a line each way. Nothing is handed over here that is not also in a file.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::files::{Folder, SERVER, SOCKET};
use super::outbox::Said;
use super::pump::Sink;
use super::watch::Event;
use crate::process::inside::{Whence, whence};

/// What somebody says to a shim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Wish {
    /// Tell me when there is something to read.
    Watch,
    /// The agent gave a sign of life elsewhere.
    Touch,
    /// The agent has started our MCP server.
    Served,
    /// The agent has a message, and cannot reach anybody who takes it.
    Say {
        /// The token of its run.
        token: String,
        /// The message.
        text: String,
    },
    /// End the run.
    Stop {
        /// Why.
        reason: String,
        /// Whether it gets the time of a grace to leave by itself first.
        leave: bool,
    },
}

/// The most guests at once; a run has one daemon and now and then a command.
const GUESTS_MAX: usize = 16;
/// The longest wish: a message of the largest size, with every byte escaped.
const WISH_BYTES_MAX: u64 = 8 << 20;

/// What is sent when there is something to read, and to say that a wish was heard.
pub(super) const NEWS: &[u8] = b"{}\n";

/// The door to a shim.
pub(super) struct Door {
    watching: Arc<Guests>,
}

/// Those who want to hear of news.
#[derive(Default)]
struct Guests(Mutex<Vec<UnixStream>>);

impl Guests {
    /// Tells everybody that there is something to read. One who is behind has news waiting
    /// already, and one who is gone is forgotten. Says whether anybody is left.
    fn tell(&self) -> bool {
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guests.retain_mut(|guest| match guest.write(NEWS) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        });
        !guests.is_empty()
    }

    /// Takes one in, and lets the one go that has been here longest if there are too many.
    fn add(&self, guest: UnixStream) -> io::Result<()> {
        guest.set_nonblocking(true)?;
        let mut guests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if guests.len() >= GUESTS_MAX {
            guests.remove(0);
        }
        guests.push(guest);
        Ok(())
    }
}

impl Door {
    /// Opens the door in the working folder, whose path may be too long for a socket.
    pub(super) fn open(tell: Sender<Event>, sink: Arc<Sink>, folder: &Folder) -> io::Result<Self> {
        let _ = fs::remove_file(SOCKET);
        let listener = UnixListener::bind(SOCKET)?;
        fs::set_permissions(SOCKET, fs::Permissions::from_mode(0o600))?;
        let watching = Arc::<Guests>::default();
        let guests = Arc::clone(&watching);
        let own = folder.path().to_owned();
        std::thread::spawn(move || receive(&listener, &tell, &sink, &guests, &own));
        Ok(Self { watching })
    }

    /// Tells everybody who watches that there is something to read, and says whether anybody does.
    pub(super) fn tell(&self) -> bool {
        self.watching.tell()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = fs::remove_file(SOCKET);
    }
}

fn receive(
    listener: &UnixListener,
    tell: &Sender<Event>,
    sink: &Arc<Sink>,
    watching: &Arc<Guests>,
    own: &Path,
) {
    let inside = Arc::new(AtomicUsize::new(0));
    for guest in listener.incoming().flatten() {
        if inside.load(Ordering::Relaxed) >= GUESTS_MAX {
            continue;
        }
        if is_of_another_run(&guest, own) {
            continue;
        }
        inside.fetch_add(1, Ordering::Relaxed);
        let (tell, sink, watching) = (tell.clone(), Arc::clone(sink), Arc::clone(watching));
        let inside = Arc::clone(&inside);
        std::thread::spawn(move || {
            let _ = serve(guest, &tell, &sink, &watching);
            inside.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Says whether somebody belongs to another run of the data folder: no run has a say in another.
fn is_of_another_run(guest: &UnixStream, own: &Path) -> bool {
    let Some(root) = own.ancestors().nth(4) else { return false };
    match whence(guest, root) {
        Whence::Inside(attempt) => own.canonicalize().is_ok_and(|own| own != attempt),
        Whence::Outside | Whence::Unknown => false,
    }
}

fn serve(
    mut guest: UnixStream,
    tell: &Sender<Event>,
    sink: &Sink,
    watching: &Guests,
) -> io::Result<()> {
    let mut reader = BufReader::new(guest.try_clone()?);
    loop {
        let mut line = Vec::new();
        reader.by_ref().take(WISH_BYTES_MAX).read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            return Ok(());
        }
        match serde_json::from_slice(&line)? {
            Wish::Watch => {
                watching.add(guest)?;
                watching.tell();
                return Ok(());
            }
            Wish::Touch => sink.touch(),
            Wish::Served => drop(fs::write(SERVER, "")),
            Wish::Say { token, text } if sink.is_secret(&token) => {
                sink.touch();
                sink.message(Said::line(&text));
                sink.sync()?;
                let _ = tell.send(Event::Message);
            }
            // It is not the run's own.
            Wish::Say { .. } => return Ok(()),
            Wish::Stop { reason, leave } => drop(tell.send(Event::Stop { reason, leave })),
        }
        guest.write_all(NEWS)?;
    }
}
