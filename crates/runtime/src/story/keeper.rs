//! Keeps the board and the stories of a project together while a daemon runs.
//!
//! It looks at the files whenever something was committed or somebody wrote to them, tells the
//! engine where stories stand, has what runs left measured, and gives up executors that take too
//! long. It remembers nothing that is not in the files or the world, so that a daemon that comes
//! after one that was killed goes on where that one was.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fs, io};

use adjutant_core::input::StoryFacts;
use adjutant_core::pipeline::{Status, StoryId};
use adjutant_core::{Actor, EventId, Input, NodeId, Task, World, decide};

use super::auto::Step;
use super::desk::Home;
use super::hook::Ask;
use super::project::{Project, StoryError};
use crate::agent::Told;
use crate::clock::{Clock, SystemClock};
use crate::engine::Request;
use crate::service::{Client, Unanswered};
use crate::shim::files::{Exit, Folder};

/// How often it is looked whether somebody wrote to the files.
const PACE: Duration = Duration::from_millis(500);

/// Looks after stories in a thread of its own, until it is dropped.
pub struct Keeper {
    bell: Bell,
    rest: Arc<Mutex<Rest>>,
    thread: Option<JoinHandle<()>>,
}

/// Wakes a keeper.
#[derive(Clone)]
pub struct Bell(Sender<Ring>);

/// What a keeper hears from its bell.
pub struct Rings(Receiver<Ring>);

enum Ring {
    Look,
    Stop,
}

/// Where a keeper finds what it needs.
#[derive(Debug, Clone)]
pub struct Place {
    /// The project: the folder that holds the data folder.
    pub home: PathBuf,
    /// The data folder.
    pub data: PathBuf,
    /// How often executors that take too long are looked for.
    pub poll: Duration,
    /// The node of a fleet this is; none on one machine.
    pub node: Option<NodeId>,
}

impl Place {
    fn as_home(&self) -> Home<'_> {
        Home { path: &self.home, node: self.node.as_ref() }
    }
}

/// What a keeper has done so far.
#[derive(Default)]
struct Rest {
    /// The last event that was there when it last looked and left nothing to do.
    seen: Option<EventId>,
    /// The stories whose last step is being measured.
    measured: BTreeSet<StoryId>,
    /// How often something was measured that nobody had looked at yet.
    news: u64,
}

impl Rest {
    /// Takes note that a look is over that began with these news and saw all up to an event. What
    /// was measured while it lasted, it may not have seen.
    fn looked(&mut self, news: u64, seen: EventId) {
        self.seen = Some(seen).filter(|_| self.news == news);
    }

    /// Takes note that a story was measured, and whether that left anything to look at.
    fn measured(&mut self, story: &StoryId, left: bool) {
        self.measured.remove(story);
        if left {
            self.news += 1;
            self.seen = None;
        }
    }

    fn is_at(&self, last: EventId) -> bool {
        self.measured.is_empty() && self.seen >= Some(last)
    }
}

/// Makes a bell, and what hears it.
pub fn bell() -> (Bell, Rings) {
    let (sender, receiver) = channel();
    (Bell(sender), Rings(receiver))
}

impl Bell {
    /// Has the keeper look.
    pub fn ring(&self) {
        // One that has gone does not hear it.
        let _ = self.0.send(Ring::Look);
    }
}

impl Keeper {
    /// Begins to look after the stories of a project. They may come later. `tell` is called when it
    /// has looked.
    pub fn start(
        place: Place,
        client: Client,
        (bell, rings): (Bell, Rings),
        tell: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let rest = Arc::new(Mutex::new(Rest::default()));
        let mut looker = Looker {
            place,
            client,
            bell: bell.clone(),
            rest: Arc::clone(&rest),
            polled: None,
            sign: None,
        };
        let thread = std::thread::Builder::new().name("stories".to_owned()).spawn(move || {
            while looker.wait(&rings) {
                tell();
            }
        })?;
        bell.ring();
        Ok(Self { bell, rest, thread: Some(thread) })
    }

    /// Says whether everything up to an event was looked at and nothing is left to do. If not, it
    /// is looked at next.
    pub fn is_at_rest(&self, last: EventId) -> bool {
        let rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let at_rest = rest.is_at(last);
        if !at_rest {
            self.bell.ring();
        }
        at_rest
    }

    /// Says whether nothing is being measured.
    pub fn is_idle(&self) -> bool {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).measured.is_empty()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.bell.0.send(Ring::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Looks once, and measures what is to be measured before it returns: for who runs no daemon.
pub fn look_once(place: &Place, client: &Client) {
    if !place.home.join(".ai").is_dir() {
        return;
    }
    let looked = || -> Result<(), Trouble> {
        let project = Project::at(&place.home, &SystemClock)?;
        project.poll()?;
        for step in over(client, project.steps()?)? {
            take_in(place, &step)?;
        }
        let facts = project.facts()?;
        feed(place, client, &facts)?;
        go_on(&project, &facts)?;
        Ok(feed(place, client, &project.facts()?)?)
    };
    // What is wrong with the files is said by the commands that people call.
    let _ = looked();
}

struct Looker {
    place: Place,
    client: Client,
    bell: Bell,
    rest: Arc<Mutex<Rest>>,
    polled: Option<Instant>,
    /// What the files were when they were last looked at.
    sign: Option<Sign>,
}

/// What tells files from what they are when somebody has written to them.
type Sign = Vec<(PathBuf, u64, i64, i64, u64)>;

/// Why a look was in vain.
enum Trouble {
    Story,
    Engine,
}

impl Looker {
    /// Waits for a reason to look, and looks. Says whether it goes on.
    fn wait(&mut self, rings: &Rings) -> bool {
        let heard = rings.0.recv_timeout(PACE.min(self.place.poll));
        let mut rung = match heard {
            Ok(Ring::Look) => true,
            Ok(Ring::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => false,
        };
        while let Ok(ring) = rings.0.try_recv() {
            match ring {
                Ring::Look => rung = true,
                Ring::Stop => return false,
            }
        }
        let sign = sign(&self.place.home);
        let due = self.polled.is_none_or(|polled| polled.elapsed() >= self.place.poll);
        if rung || due || self.sign.as_ref() != Some(&sign) {
            self.look(due);
            self.sign = Some(sign);
        }
        true
    }

    fn look(&mut self, due: bool) {
        let news = self.rest.lock().unwrap_or_else(PoisonError::into_inner).news;
        let Ok(seen) = self.client.view(World::last_event) else { return };
        if due {
            self.polled = Some(Instant::now());
        }
        // What is wrong with the files is said by the commands that people call.
        let _ = self.see(due);
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).looked(news, seen);
    }

    fn see(&self, due: bool) -> Result<(), Trouble> {
        if !self.place.home.join(".ai").is_dir() {
            return Ok(());
        }
        let project = Project::at(&self.place.home, &SystemClock)?;
        if due {
            project.poll()?;
        }
        let facts = project.facts()?;
        feed(&self.place, &self.client, &facts)?;
        if go_on(&project, &facts)? {
            feed(&self.place, &self.client, &project.facts()?)?;
        }
        for step in over(&self.client, project.steps()?)? {
            self.measure(step);
        }
        Ok(())
    }

    /// Has what a run left measured: that takes minutes, and other stories go on meanwhile.
    fn measure(&self, step: Step) {
        let story = step.story.clone();
        let rest = Arc::clone(&self.rest);
        if !rest.lock().unwrap_or_else(PoisonError::into_inner).measured.insert(story.clone()) {
            return;
        }
        let (place, bell, done) = (self.place.clone(), self.bell.clone(), Arc::clone(&rest));
        let name = format!("measure {story}");
        let spawned = std::thread::Builder::new().name(name).spawn(move || {
            let taken = take_in(&place, &step);
            let mut rest = done.lock().unwrap_or_else(PoisonError::into_inner);
            // What failed is tried again in a while, not at once.
            rest.measured(&step.story, taken.is_ok());
            if taken.is_ok() {
                bell.ring();
            }
        });
        if spawned.is_err() {
            rest.lock().unwrap_or_else(PoisonError::into_inner).measured.remove(&story);
        }
    }
}

/// Tells the engine where stories stand, if it does not know.
fn feed(place: &Place, client: &Client, facts: &[StoryFacts]) -> Result<(), Unanswered> {
    let facts = place.as_home().on_node(facts.to_vec());
    let knows = client.view(move |world| {
        let known = |facts: StoryFacts| {
            let input = Input::Story { by: Actor::System, facts: Box::new(facts) };
            decide(world, &input, SystemClock.now()).events.is_empty()
        };
        facts.into_iter().all(known)
    })?;
    if knows {
        return Ok(());
    }
    client.ask(Request::Stories { by: Actor::System, told: None, facts: vec![] }).map(drop)
}

/// Lets stories that go by themselves come to the step that is next, and says whether any did. Only
/// where a story stood that was told of is left: what came of every step is in the record.
fn go_on(project: &Project<'_>, told: &[StoryFacts]) -> Result<bool, StoryError> {
    let mut any = false;
    for facts in told.iter().filter(|facts| project.can_move(&facts.position)) {
        project.onward(&facts.position.story)?;
        any = true;
    }
    Ok(any)
}

/// Returns those of the steps whose runs are over.
fn over(client: &Client, steps: Vec<Step>) -> Result<Vec<Step>, Unanswered> {
    if steps.is_empty() {
        return Ok(vec![]);
    }
    client.view(move |world| steps.into_iter().filter(|step| is_over(world, step)).collect())
}

/// Says whether the run of a step is over: a run keeps its lease until its end was seen.
fn is_over(world: &World, step: &Step) -> bool {
    let has = |task: &Task| {
        let leased = task.lease().map(|lease| lease.fence);
        let open = task.trials.open.as_ref().map(|run| run.fence);
        [leased, open].contains(&Some(step.fence))
    };
    !world.task(&step.task).is_some_and(has)
}

/// Takes in what the run of a step came to.
fn take_in(place: &Place, step: &Step) -> Result<(), StoryError> {
    let project = Project::at(&place.home, &SystemClock)?;
    let story = Some(&step.story);
    let runs = place.data.join("runs").join(step.task.as_str()).join("attempts");
    let folder = Folder::at(&runs.join(step.attempt.to_string()));
    let ended = folder.exit().ok().flatten();
    let (exit, tail) = ended.map_or((Exit::Lost, String::new()), |it| (it.exit, it.tail));
    let told = folder.told().ok().flatten();
    if told.as_ref().is_some_and(Told::is_in_trouble) {
        return give_back(&project, &step.story);
    }
    match &exit {
        Exit::Code(0) => return settle(&project, story, Ask::Ended, "it left nothing"),
        Exit::Stopped(_) => return project.stopped(&step.story).map(drop),
        // One that took too long is given up by the clock, and that is for a person to look at.
        Exit::TimedOut => {
            project.poll()?;
        }
        Exit::Code(_)
        | Exit::Signal(_)
        | Exit::Idle
        | Exit::OverBudget
        | Exit::Lost
        | Exit::NotStarted(_) => {}
    }
    let words = adjutant_core::run::Exit::from(&exit).in_words();
    let tail = told.map_or(tail.clone(), |told| told.last_words(&exit, &tail));
    let tail = tail.trim();
    let why = if tail.is_empty() { words } else { format!("{words}: {tail}") };
    settle(&project, story, Ask::IfHandedOver, &why)
}

/// Takes back the dispatch of an agent that says it cannot work: no fault of the step, and no try of
/// it. What it handed over before counts.
fn give_back(project: &Project<'_>, story: &StoryId) -> Result<(), StoryError> {
    if project.status(Some(story))?.0.state.status != Status::Running {
        return Ok(());
    }
    match project.hook(Some(story), Ask::IfHandedOver)?.result {
        "stale" | "nothing" => project.stopped(story).map(drop),
        _ => Ok(()),
    }
}

/// Has the hook look at what a run left. The run is over: where it left nothing, or what is about
/// something else, it failed.
fn settle(
    project: &Project<'_>,
    story: Option<&StoryId>,
    ask: Ask,
    why: &str,
) -> Result<(), StoryError> {
    if project.status(story)?.0.state.status != Status::Running {
        return Ok(());
    }
    let hooked = project.hook(story, ask)?;
    match hooked.result {
        "stale" => project.report_error(story, &hooked.warnings.join("; ")).map(drop),
        "nothing" => project.report_error(story, why).map(drop),
        _ => Ok(()),
    }
}

/// Returns what the files of stories are now.
fn sign(home: &Path) -> Sign {
    let folder = home.join(".ai");
    let states = fs::read_dir(folder.join("states")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = states.map(|entry| entry.path()).collect();
    paths.extend(["STATE.json", "step-rules.yaml"].map(|name| folder.join(name)));
    paths.sort();
    let stat = |path: PathBuf| {
        let file = fs::metadata(&path).ok()?;
        Some((path, file.ino(), file.mtime(), file.mtime_nsec(), file.size()))
    };
    paths.into_iter().filter_map(stat).collect()
}

impl From<StoryError> for Trouble {
    fn from(_: StoryError) -> Self {
        Self::Story
    }
}

impl From<Unanswered> for Trouble {
    fn from(_: Unanswered) -> Self {
        Self::Engine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_while_it_looks_leaves_it_no_rest() {
        let story = StoryId::parse("US-005").expect("a name");
        let last = EventId::default().next();
        let mut rest = Rest::default();
        let first = rest.news;
        rest.measured.insert(story.clone());
        rest.looked(first, last);
        assert!(!rest.is_at(last), "something is being measured");
        let second = rest.news;
        rest.measured(&story, true);
        rest.looked(second, last);
        assert!(!rest.is_at(last), "the second look may have been too early to see it");
        let third = rest.news;
        rest.looked(third, last);
        assert!(rest.is_at(last));
        assert!(!rest.is_at(last.next()));
    }
}
