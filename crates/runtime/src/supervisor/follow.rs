//! Follows a run: tells of its messages as they come, and of its end.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::PoisonError;
use std::sync::mpsc::{SendError, SyncSender};
use std::time::Duration;

use adjutant_core::dialect::DocumentKind;

use super::clear::{clear, end_without_folder};
use super::find::{Life, life};
use super::{Event, Exit, Followed, Run, Supervisor, What, call};
use crate::agent::Told;
use crate::shim::door::Wish;
use crate::shim::files::{Folder, Record, SERVER};
use crate::shim::outbox::{Numbered, Reader};

/// How long to wait for news before looking anyway.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait before looking again for a shim that cannot be reached.
const PAUSE: Duration = Duration::from_millis(20);

/// What is said of a run whose folder was taken away while it lived.
const TAKEN_AWAY: &str = "the folder of the run was taken away, and what was left of it was ended";

struct Follower {
    run: Run,
    folder: Folder,
    /// Who looked after the run when it was first seen.
    record: Option<Record>,
    token: String,
    tell: SyncSender<Event>,
    followed: Followed,
}

/// Follows a run in a thread of its own.
pub(super) fn spawn(supervisor: &Supervisor, run: Run) -> io::Result<()> {
    let folder = supervisor.folder(&run);
    let follower = Follower {
        record: folder.record().ok().flatten(),
        folder,
        token: supervisor.token(&run),
        tell: supervisor.tell.clone(),
        followed: supervisor.followed.clone(),
        run,
    };
    let name = format!("follow {}", follower.run.task);
    std::thread::Builder::new().name(name).stack_size(256 << 10).spawn(move || {
        // It ends with the run, or when nobody listens any more.
        let _ = follower.follow();
        let mut all = follower.followed.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&follower.run);
    })?;
    Ok(())
}

impl Follower {
    fn follow(&self) -> Result<(), SendError<Event>> {
        let mut reader = Reader::open(&self.folder);
        let mut news = None;
        loop {
            // Whether it is over is asked before its messages are read: then those were the last.
            let life = life(&self.folder).unwrap_or(Life::Alive);
            // What cannot be read now may be the next time.
            while let Ok(Some(message)) = reader.read() {
                self.tell(line(message))?;
            }
            match life {
                Life::Alive => wait(&self.folder, &mut news),
                Life::Gone if clear(&self.folder, &self.run, &self.token).is_ok() => {}
                Life::Gone => std::thread::sleep(PAUSE),
                Life::Over => return self.over(),
                Life::Unknown => return self.taken_away(),
            }
        }
    }

    fn over(&self) -> Result<(), SendError<Event>> {
        match self.folder.exit() {
            Ok(Some(ended)) => {
                let told = self.told();
                let tail = match &told {
                    Some(told) => told.last_words(&ended.exit, &ended.tail),
                    None => ended.tail,
                };
                let told = Box::new(told.map(|told| told.for_decision()).unwrap_or_default());
                self.tell(What::Exited { exit: ended.exit, tail, told })
            }
            // Somebody wrote something else there.
            Err(_) => self.gone(""),
            Ok(None) => self.taken_away(),
        }
    }

    /// Somebody took the folder away. What the run says from now on reaches nobody, so that it is
    /// ended.
    fn taken_away(&self) -> Result<(), SendError<Event>> {
        end_without_folder(self.record.as_ref(), &self.token);
        self.gone(TAKEN_AWAY)
    }

    fn gone(&self, tail: &str) -> Result<(), SendError<Event>> {
        let (tail, told) = (tail.to_owned(), Box::default());
        self.tell(What::Exited { exit: Exit::Lost, tail, told })
    }

    /// Returns what the agent told of itself; none if nobody listened.
    fn told(&self) -> Option<Told> {
        let mut told = self.folder.told().ok().flatten()?;
        if told.no_server.is_none() && !self.folder.join(SERVER).exists() {
            told.no_server = Some("the agent did not start it".to_owned());
        }
        Some(told)
    }

    fn tell(&self, what: What) -> Result<(), SendError<Event>> {
        self.tell.send(Event { run: self.run.clone(), what })
    }
}

fn line(message: Numbered) -> What {
    let Numbered { seq, line: text, kind, flaw } = message;
    What::Line { seq, text, kind: kind.and_then(|kind| DocumentKind::parse(&kind)), flaw }
}

/// Waits until there may be something to read.
fn wait(folder: &Folder, news: &mut Option<UnixStream>) {
    if news.is_none() {
        *news = call::open(folder, &Wish::Watch).and_then(patient).ok();
        // What happened before the shim knew of us may be there already.
        if news.is_some() {
            return;
        }
    }
    let heard = news.as_mut().map(|stream| stream.read(&mut [0; 64]));
    let quiet = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    };
    match heard {
        Some(Ok(read)) if read > 0 => {}
        Some(Err(error)) if quiet(&error) => {}
        Some(_) | None => {
            *news = None;
            pause(folder);
        }
    }
}

/// Waits before a shim that cannot be reached is looked for again: most of those are on their way
/// out, and who waits for that sees it at once.
fn pause(folder: &Folder) {
    match folder.record() {
        Ok(Some(record)) => record.shim().wait(PAUSE),
        Ok(None) | Err(_) => std::thread::sleep(PAUSE),
    }
}

fn patient(stream: UnixStream) -> io::Result<UnixStream> {
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}
