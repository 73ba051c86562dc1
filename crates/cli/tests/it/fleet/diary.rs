//! What agents write down while they work, in one file for all nodes of a test: who worked on which
//! task, and when, by a clock that the processes of a machine share and nobody can set.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use adjutant_store::steady;
use tempfile::TempDir;

use crate::fleet::node::Node;

/// What agents of these tests can do.
const AGENT: &str = include_str!("agent.sh");

/// How long an agent may be seen at work after its node has thawed, before its shim has stopped it.
pub(crate) const INSTANT: Duration = Duration::from_secs(2);

/// What agents wrote down.
pub(crate) struct Diary {
    home: TempDir,
}

/// A line of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) at: Duration,
    pub(crate) node: String,
    pub(crate) task: String,
    pub(crate) attempt: u32,
    pub(crate) what: String,
}

/// A time in which a node was frozen.
#[derive(Debug, Clone)]
pub(crate) struct Frozen {
    node: String,
    since: Duration,
    until: Duration,
}

/// A time in which a run worked all along: of which attempt, from when, until when.
type Stretch = (u32, Duration, Duration);

impl Diary {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("diary")
    }

    /// Gives a node an agent that does this, in the shell, and keeps the diary.
    pub(crate) fn agent(&self, node: &Node, does: &str) {
        let (path, name) = (self.path(), &node.name);
        let script = format!("DIARY='{}'\nNODE='{name}'\n{AGENT}{does}\n", path.display());
        fs::write(node.home().join("agent.sh"), script).expect("written");
    }

    /// Returns what is written down. The last line may not be whole yet.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let text = fs::read_to_string(self.path()).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| read(line).unwrap_or_else(|| panic!("{line:?}"))).collect()
    }

    /// Returns the units of work that an attempt at a task did.
    pub(crate) fn units(&self, task: &str, attempt: u32) -> Vec<Line> {
        let is = |line: &Line| line.task == task && line.attempt == attempt && line.what == "work";
        self.lines().into_iter().filter(is).collect()
    }

    /// Says that no two runs ever worked on one task at the same time.
    ///
    /// While a node is frozen, nobody works on it: its processes stand still. When it thaws, an agent
    /// runs for the instant that its shim needs to stop it, whatever anybody does; what it does then
    /// counts for nothing, and it is not held against anybody. An agent that goes on for longer
    /// than [`INSTANT`] works like any other.
    pub(crate) fn shows_one_at_a_time(&self, frozen: &[Frozen]) {
        let mut tasks: BTreeMap<String, BTreeMap<(u32, String), Vec<Duration>>> = BTreeMap::new();
        for line in self.lines() {
            let runs = tasks.entry(line.task).or_default();
            runs.entry((line.attempt, line.node)).or_default().push(line.at);
        }
        for (task, runs) in tasks {
            let each = runs.iter().flat_map(|((attempt, node), times)| {
                let frozen: Vec<&Frozen> = frozen.iter().filter(|one| one.node == *node).collect();
                stretches(*attempt, times, &frozen)
            });
            let each: Vec<Stretch> = each.collect();
            assert_eq!(overlap(each.clone()), None, "two attempts at {task} at once: {each:?}");
        }
    }
}

impl Frozen {
    /// A node that has been frozen since then, and is not any more.
    pub(crate) fn until_now(node: &Node, since: Duration) -> Self {
        Self { node: node.name.clone(), since, until: steady() }
    }
}

fn read(line: &str) -> Option<Line> {
    let mut words = line.splitn(5, ' ');
    let at = Duration::from_secs_f64(words.next()?.parse().ok()?);
    let mut word = || words.next().map(str::to_owned);
    let (node, task) = (word()?, word()?);
    Some(Line { at, node, task, attempt: word()?.parse().ok()?, what: word()? })
}

/// Returns when a run worked all along: what its node was frozen for lies between two stretches.
fn stretches(attempt: u32, times: &[Duration], frozen: &[&Frozen]) -> Vec<Stretch> {
    let mut stretches: BTreeMap<usize, (Duration, Duration)> = BTreeMap::new();
    for at in times {
        let is_over = |frozen: &&&Frozen| frozen.until + INSTANT < *at;
        if frozen.iter().any(|one| one.since < *at && !is_over(&one)) {
            continue;
        }
        let stretch = stretches.entry(frozen.iter().filter(is_over).count());
        stretch.or_insert((*at, *at)).1 = *at;
    }
    stretches.into_values().map(|(from, to)| (attempt, from, to)).collect()
}

/// Returns two attempts of which one began before the other was over, if there are any.
fn overlap(mut stretches: Vec<Stretch>) -> Option<(u32, u32)> {
    stretches.sort_by_key(|(_, from, _)| *from);
    let later = |place: usize| &stretches[place + 1..];
    let mut pairs = stretches
        .iter()
        .enumerate()
        .flat_map(|(place, one)| later(place).iter().map(move |other| (one, other)));
    let overlaps = pairs.find(|((one, _, to), (other, from, _))| one != other && to > from);
    overlaps.map(|((one, ..), (other, ..))| (*one, *other))
}

#[test]
fn work_that_overlaps_is_seen() {
    let second = Duration::from_secs;
    let node = Node::bare("n");
    let froze = [Frozen { node: node.name.clone(), since: second(10), until: second(20) }];
    let of = |times: &[u64], frozen: &[Frozen]| {
        let times: Vec<Duration> = times.iter().copied().map(second).collect();
        stretches(1, &times, &frozen.iter().collect::<Vec<_>>())
    };
    assert_eq!(of(&[8, 9, 21, 30], &[]), [(1, second(8), second(30))]);
    // What is done in the instant after a thaw counts for nothing, and all else does.
    let parts = [(1, second(8), second(9)), (1, second(30), second(31))];
    assert_eq!(of(&[8, 9, 21, 30, 31], &froze), parts);
    let with = |from: u64, to: u64| {
        overlap(parts.into_iter().chain([(2, second(from), second(to))]).collect())
    };
    assert_eq!(with(12, 15), None);
    assert_eq!(with(8, 12), Some((1, 2)));
    assert_eq!(with(12, 31), Some((2, 1)));
}
