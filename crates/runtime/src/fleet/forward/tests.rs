//! Questions that are lost, and answers that are: whatever is asked for is done once, whoever decides
//! by then.

#![expect(clippy::print_stdout, reason = "the seed is worth knowing")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use adjutant_core::command::{Caller, NewTask, Start};
use adjutant_core::{Actor, Command, Policy};
use adjutant_store::net::{Agreed, Answer, Bell, Held};
use adjutant_store::{FileStore, Lead, Mirror, Net, Sequence};
use adjutant_test_support::soak::cases;
use adjutant_testkit::dice::Dice;
use adjutant_testkit::nodes::{Nodes, name};

use super::*;
use crate::fleet::Me;

/// How long a node may decide unless somebody else is made to.
const TERM: Duration = Duration::from_hours(1);
/// The node that asks.
const ASKS: usize = 0;

/// An order of commits in memory; clones share it.
#[derive(Clone, Default)]
struct List(Arc<Mutex<Vec<String>>>);

impl Sequence for List {
    fn after(&self, version: Version) -> Result<Vec<String>, StoreError> {
        let from = usize::try_from(version.0).expect("a small number");
        Ok(lock(&self.0).iter().skip(from).cloned().collect())
    }

    fn append(
        &self,
        expect: Version,
        commit: String,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), StoreError> {
        meanwhile();
        let mut list = lock(&self.0);
        let now = Version(list.len() as u64);
        if now != expect {
            return Err(StoreError::Conflict { expected: expect, now });
        }
        list.push(commit);
        Ok(())
    }

    fn check(&self, _: &FileStore) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A node: the one that asks has its engine outside.
struct Peer {
    member: Arc<Member>,
    engine: Option<Mutex<Engine<Mirror<List>>>>,
}

/// What becomes of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is done and answered.
    Answered,
    /// It is done, and the answer is lost.
    Unanswered,
    /// It never arrives.
    Unheard,
    /// It cannot be sent, as far as whoever asks can tell, and was done.
    Failed,
}

/// A way to the others by which questions and answers get lost, and on which another may decide
/// whenever that has happened.
#[derive(Default)]
pub(in crate::fleet) struct Lossy {
    /// What all agreed on, by what it is about.
    agreed: Mutex<BTreeMap<String, Agreed>>,
    peers: Mutex<Vec<Arc<Peer>>>,
    decider: Mutex<usize>,
    /// What becomes of the next questions, and who decides then; all others are answered.
    fates: Mutex<Vec<(Fate, Option<usize>)>>,
}

impl Lossy {
    fn peer(&self, node: usize) -> Arc<Peer> {
        Arc::clone(&lock(&self.peers)[node])
    }

    /// Has another node decide. Whoever did decides no more; one that has its engine outside takes
    /// over when it sees that it may.
    fn depose(&self, by: usize) {
        let before = std::mem::replace(&mut *lock(&self.decider), by);
        self.peer(before).member.step_down();
        let peer = self.peer(by);
        peer.member.offer(steady() + TERM);
        if let Some(engine) = &peer.engine {
            assert!(peer.member.begin(&mut lock(engine)).expect("it can take over"));
        }
    }

    /// Has a node do what it is asked for.
    fn hear(&self, node: &NodeId, question: &[u8]) -> Vec<u8> {
        let peers = lock(&self.peers);
        let peer = peers.iter().find(|peer| peer.member.node() == node).expect("a node");
        let question = Question::decode(question).expect("a question");
        let engine = peer.engine.as_ref().expect("nobody asks the one that asks");
        let mut replies = hear(&peer.member, &mut lock(engine), &[question]);
        replies.pop().expect("a reply").encode()
    }
}

impl Net for Lossy {
    fn decider(&self, _: Duration) -> Result<Option<NodeId>, StoreError> {
        Ok(Some(self.peer(*lock(&self.decider)).member.node().clone()))
    }

    fn ask(
        &self,
        node: &NodeId,
        question: Vec<u8>,
        _: Duration,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let (fate, next) = lock(&self.fates).pop().unwrap_or((Fate::Answered, None));
        let reply = (fate != Fate::Unheard).then(|| self.hear(node, &question));
        if let Some(next) = next {
            self.depose(next);
        }
        match fate {
            Fate::Answered => Ok(reply),
            Fate::Unanswered | Fate::Unheard => Ok(None),
            Fate::Failed => Err(failure("the servers do not answer".to_owned())),
        }
    }

    fn lead(&self, _: &NodeId, _: Duration) -> Result<Option<Box<dyn Lead>>, StoreError> {
        Ok(None)
    }

    fn answer(&self, _: &NodeId, _: Answer) -> Result<Held, StoreError> {
        Ok(Box::new(()))
    }

    fn on_commit(&self, _: Bell) -> Result<Held, StoreError> {
        Ok(Box::new(()))
    }

    fn announce(&self, _: &NodeId, _: Vec<u8>, _: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    fn withdraw(&self, _: &NodeId, _: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    fn nodes(&self, _: Duration) -> Result<Vec<(NodeId, Vec<u8>)>, StoreError> {
        Ok(vec![])
    }

    fn version(&self) -> Result<Version, StoreError> {
        Ok(Version(0))
    }

    fn agreed(&self, on: &str) -> Result<Option<Agreed>, StoreError> {
        Ok(lock(&self.agreed).get(on).cloned())
    }

    fn agree(&self, on: &str, own: &str) -> Result<Agreed, StoreError> {
        let mut agreed = lock(&self.agreed);
        let first = || Agreed { text: own.to_owned(), revision: 1 };
        Ok(agreed.entry(on.to_owned()).or_insert_with(first).clone())
    }

    fn change(&self, on: &str, was: &str, to: &str) -> Result<Option<Agreed>, StoreError> {
        let mut agreed = lock(&self.agreed);
        let Some(there) = agreed.get_mut(on).filter(|there| there.text == was) else {
            return Ok(None);
        };
        *there = Agreed { text: to.to_owned(), revision: there.revision + 1 };
        Ok(Some(there.clone()))
    }

    fn append_log(&self, _: &TaskId, _: u32, _: u64, _: &[u8]) -> Result<(), StoreError> {
        Ok(())
    }

    fn read_log(&self, _: &TaskId, _: u32, at: u64) -> Result<(u64, Vec<u8>), StoreError> {
        Ok((at, vec![]))
    }
}

/// A node that asks two others, of which one decides.
struct Asker {
    net: Arc<Lossy>,
    nodes: Nodes<List>,
    engine: Engine<Mirror<List>>,
}

impl Asker {
    fn new() -> Self {
        let (list, net) = (List::default(), Arc::<Lossy>::default());
        let nodes = Nodes::new(3, move |_| list.clone());
        let mut engines: Vec<_> = (0..3).map(|node| open(&net, &nodes, node)).collect();
        let (member, engine) = engines.remove(ASKS);
        let asks = Peer { member, engine: None };
        let others = engines
            .into_iter()
            .map(|(member, engine)| Peer { member, engine: Some(Mutex::new(engine)) });
        *lock(&net.peers) = [asks].into_iter().chain(others).map(Arc::new).collect();
        net.depose(1);
        Self { net, nodes, engine }
    }

    /// Asks for a task of this title, with these fates for each time it is asked.
    fn add(&mut self, title: &str, fates: &[(Fate, Option<usize>)]) -> Vec<Answered> {
        *lock(&self.net.fates) = fates.iter().rev().copied().collect();
        let new = NewTask { title: title.to_owned(), start: Start::Backlog, ..NewTask::default() };
        let by = Caller::Operator(Actor::human("alice"));
        let request = Request::Command { by, command: Command::Add(Box::new(new)) };
        let member = Arc::clone(&self.net.peer(ASKS).member);
        let root = self.nodes.folder(ASKS).root().to_owned();
        forward(&member, &mut self.engine, &root, &[request]).expect("an answer")
    }

    /// Returns how often there is a task of each title, as the node that asks sees it.
    fn titles(&mut self) -> BTreeMap<String, usize> {
        self.engine.follow_others().expect("it follows");
        let mut titles = BTreeMap::new();
        for task in self.engine.world().tasks() {
            *titles.entry(task.title.to_string()).or_default() += 1;
        }
        titles
    }
}

fn open(net: &Arc<Lossy>, nodes: &Nodes<List>, node: usize) -> (Arc<Member>, Engine<Mirror<List>>) {
    let me =
        Me { node: NodeId::parse(&name(node)).expect("a good name"), labels: vec![], term: TERM };
    let member = Member::new(Arc::<Lossy>::clone(net), me, TERM, Path::new(""));
    let (mirror, loaded) = nodes.mirror(node).expect("the folder opens");
    let engine = Engine::start(mirror, loaded, Box::new(SystemClock), Policy::default());
    let engine = engine.expect("it starts").gated(member.gate().clone());
    (Arc::new(member), engine)
}

/// Asks for one task, and says that it is there once and that the answer is about it.
fn check(fates: &[(Fate, Option<usize>)]) {
    let mut asker = Asker::new();
    let answers = asker.add("one", fates);
    assert_eq!(asker.titles(), [("one".to_owned(), 1)].into(), "{fates:?}");
    let told: Vec<Option<TaskId>> = answers.into_iter().map(|one| one.answer.task).collect();
    let there: Vec<Option<TaskId>> =
        asker.engine.world().tasks().map(|task| Some(task.id.clone())).collect();
    assert_eq!(told, there, "{fates:?}");
}

#[test]
fn a_question_whose_answer_is_lost_is_done_once() {
    check(&[(Fate::Answered, None)]);
    check(&[(Fate::Unanswered, None)]);
    check(&[(Fate::Unheard, None), (Fate::Unanswered, None)]);
    check(&[(Fate::Failed, None), (Fate::Unanswered, None)]);
}

#[test]
fn a_question_whose_answer_is_lost_is_done_once_if_another_decides_by_then() {
    check(&[(Fate::Unanswered, Some(2))]);
    check(&[(Fate::Failed, Some(2)), (Fate::Unheard, Some(1))]);
    // The one that was asked first never heard of it.
    check(&[(Fate::Unheard, Some(2)), (Fate::Unanswered, Some(1))]);
}

#[test]
fn a_question_is_done_once_if_the_node_that_asks_decides_by_then() {
    check(&[(Fate::Unanswered, Some(ASKS))]);
    check(&[(Fate::Unheard, Some(2)), (Fate::Unheard, Some(ASKS))]);
}

#[test]
fn a_question_that_was_given_up_is_never_done_later() {
    let mut asker = Asker::new();
    let member = Arc::clone(&asker.net.peer(ASKS).member);
    let new = NewTask { title: "late".to_owned(), ..NewTask::default() };
    let by = Caller::Operator(Actor::human("alice"));
    let request = Request::Command { by, command: Command::Add(Box::new(new)) };
    let late = Question { requests: vec![request], ..empty(&member) };
    let encoded = late.encode().expect("it can be sent");
    *lock(&member.open) = Some(late);
    asker.add("next", &[]);
    // Only now does it arrive.
    asker.net.hear(&NodeId::parse(&name(1)).expect("a good name"), &encoded);
    assert_eq!(asker.titles(), [("next".to_owned(), 1)].into());
}

/// The first asked is slow, and gets the question out of its queue when it decides again; by then it
/// was done by another, or by itself in an earlier term.
#[test]
fn a_question_that_was_done_and_comes_again_late_is_not_done_again() {
    for by in [2, 1] {
        let mut asker = Asker::new();
        asker.net.depose(by);
        let count = asker.net.peer(ASKS).member.asked_so_far();
        asker.add("one", &[]);
        let late = {
            let member = Arc::clone(&asker.net.peer(ASKS).member);
            let new = NewTask { title: "one".to_owned(), ..NewTask::default() };
            let by = Caller::Operator(Actor::human("alice"));
            let request = Request::Command { by, command: Command::Add(Box::new(new)) };
            let id = member.question_number(count);
            Question { id, requests: vec![request], ..empty(&member) }.encode()
        };
        asker.net.depose(3 - by);
        asker.net.depose(1);
        let first = NodeId::parse(&name(1)).expect("a good name");
        asker.net.hear(&first, &late.expect("it can be sent"));
        assert_eq!(asker.titles(), [("one".to_owned(), 1)].into(), "done by {by}");
    }
}

/// Whatever becomes of questions and answers, and whoever decides, everything is done once.
#[test]
fn whatever_is_lost_everything_is_done_once() {
    let seed = Dice::seed();
    println!("ADJUTANT_SEED={seed}");
    let (mut dice, mut asker) = (Dice::from_seed(seed), Asker::new());
    let count = cases(20_u32);
    for number in 0..count {
        let fate = |dice: &mut Dice| {
            let next = dice.once_in(2).then(|| 1 + dice.below(2));
            (*dice.one_of(&[Fate::Unanswered, Fate::Unheard, Fate::Failed]), next)
        };
        let tries = dice.below(4);
        let mut fates: Vec<_> = (0..tries).map(|_| fate(&mut dice)).collect();
        // The last of them may find that it decides itself, for as long as it takes.
        if let Some(last) = fates.last_mut().filter(|_| dice.once_in(4)) {
            last.1 = Some(ASKS);
        }
        asker.add(&format!("task {number}"), &fates);
        if *lock(&asker.net.decider) == ASKS {
            asker.net.depose(1 + dice.below(2));
        }
        let all = (0..=number).map(|number| (format!("task {number}"), 1)).collect();
        assert_eq!(asker.titles(), all, "after {fates:?}");
    }
}
