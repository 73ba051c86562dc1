//! What agents note down while they work, in one file for all nodes of a test.
//!
//! Each line says who worked on which task and when, by a clock that all processes of the machine
//! share and that cannot be set.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use adjutant_store::monotonic_now;
use tempfile::TempDir;

use crate::fleet::node::Node;

/// The shell functions that the agents of these tests use.
const AGENT: &str = include_str!("agent.sh");

/// How long an agent may work after its node has thawed, before its shim has stopped it.
pub(crate) const INSTANT: Duration = Duration::from_secs(2);

/// The file in which agents note down their work.
pub(crate) struct AgentDiary {
    home: TempDir,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiaryLine {
    pub(crate) at: Duration,
    pub(crate) node: String,
    pub(crate) task: String,
    pub(crate) attempt: u32,
    pub(crate) what: String,
}

/// A period in which a node was frozen.
#[derive(Debug, Clone)]
pub(crate) struct FreezePeriod {
    node: String,
    since: Duration,
    until: Duration,
}

/// A period in which a run worked without interruption: its attempt, the start and the end.
type WorkPeriod = (u32, Duration, Duration);

impl AgentDiary {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("diary")
    }

    /// Gives the node an agent that runs the shell script `does` and keeps the diary.
    pub(crate) fn agent(&self, node: &Node, does: &str) {
        let (path, name) = (self.path(), &node.name);
        let script = format!("DIARY='{}'\nNODE='{name}'\n{AGENT}{does}\n", path.display());
        fs::write(node.home().join("agent.sh"), script).expect("written");
    }

    /// Returns all complete lines; the last line may be partly written.
    pub(crate) fn lines(&self) -> Vec<DiaryLine> {
        let text = fs::read_to_string(self.path()).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| read(line).unwrap_or_else(|| panic!("{line:?}"))).collect()
    }

    /// Returns the units of work that an attempt at a task did.
    pub(crate) fn units(&self, task: &str, attempt: u32) -> Vec<DiaryLine> {
        let is =
            |line: &DiaryLine| line.task == task && line.attempt == attempt && line.what == "work";
        self.lines().into_iter().filter(is).collect()
    }

    /// Asserts that no two runs ever worked on one task at the same time.
    ///
    /// The processes of a frozen node stand still, so none of them works. After the thaw, an agent
    /// runs until its shim has stopped it, which no shim can prevent. Work in that time counts for
    /// nothing, and is not taken for an overlap. An agent that works for longer than [`INSTANT`]
    /// counts like any other.
    pub(crate) fn shows_one_at_a_time(&self, frozen: &[FreezePeriod]) {
        let mut tasks: BTreeMap<String, BTreeMap<(u32, String), Vec<Duration>>> = BTreeMap::new();
        for line in self.lines() {
            let runs = tasks.entry(line.task).or_default();
            runs.entry((line.attempt, line.node)).or_default().push(line.at);
        }
        for (task, runs) in tasks {
            let each = runs.iter().flat_map(|((attempt, node), times)| {
                let frozen: Vec<&FreezePeriod> =
                    frozen.iter().filter(|one| one.node == *node).collect();
                stretches(*attempt, times, &frozen)
            });
            let each: Vec<WorkPeriod> = each.collect();
            assert_eq!(overlap(each.clone()), None, "two attempts at {task} at once: {each:?}");
        }
    }
}

impl FreezePeriod {
    /// Returns the period from `since` until now.
    pub(crate) fn until_now(node: &Node, since: Duration) -> Self {
        Self { node: node.name.clone(), since, until: monotonic_now() }
    }
}

fn read(line: &str) -> Option<DiaryLine> {
    let mut words = line.splitn(5, ' ');
    let at = Duration::from_secs_f64(words.next()?.parse().ok()?);
    let mut word = || words.next().map(str::to_owned);
    let (node, task) = (word()?, word()?);
    Some(DiaryLine { at, node, task, attempt: word()?.parse().ok()?, what: word()? })
}

/// Returns the periods in which a run worked. The time its node was frozen separates two periods.
fn stretches(attempt: u32, times: &[Duration], frozen: &[&FreezePeriod]) -> Vec<WorkPeriod> {
    let mut stretches: BTreeMap<usize, (Duration, Duration)> = BTreeMap::new();
    for at in times {
        let is_over = |frozen: &&&FreezePeriod| frozen.until + INSTANT < *at;
        if frozen.iter().any(|one| one.since < *at && !is_over(&one)) {
            continue;
        }
        let stretch = stretches.entry(frozen.iter().filter(is_over).count());
        stretch.or_insert((*at, *at)).1 = *at;
    }
    stretches.into_values().map(|(from, to)| (attempt, from, to)).collect()
}

/// Returns two attempts of which one began before the other ended, if there are any.
fn overlap(mut stretches: Vec<WorkPeriod>) -> Option<(u32, u32)> {
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
fn overlapping_work_is_detected() {
    let second = Duration::from_secs;
    let node = Node::bare("n");
    let froze = [FreezePeriod { node: node.name.clone(), since: second(10), until: second(20) }];
    let of = |times: &[u64], frozen: &[FreezePeriod]| {
        let times: Vec<Duration> = times.iter().copied().map(second).collect();
        stretches(1, &times, &frozen.iter().collect::<Vec<_>>())
    };
    assert_eq!(of(&[8, 9, 21, 30], &[]), [(1, second(8), second(30))]);
    // Work right after a thaw counts for nothing; all other work counts.
    let parts = [(1, second(8), second(9)), (1, second(30), second(31))];
    assert_eq!(of(&[8, 9, 21, 30, 31], &froze), parts);
    let with = |from: u64, to: u64| {
        overlap(parts.into_iter().chain([(2, second(from), second(to))]).collect())
    };
    assert_eq!(with(12, 15), None);
    assert_eq!(with(8, 12), Some((1, 2)));
    assert_eq!(with(12, 31), Some((2, 1)));
}
