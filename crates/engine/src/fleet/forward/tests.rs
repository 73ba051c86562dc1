//! Lost requests and lost replies: every request is performed once, even if the leader changes.

#![expect(clippy::print_stdout, reason = "the seed is worth knowing")]

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_model::command::{CommandCaller, InitialStatus, NewTask};
use adjutant_model::{Actor, Command, Policy};
use adjutant_replication::replicated_store::{CommitLog, ReplicatedStore};
use adjutant_store::fleet_network::{
    AgreedValue, CommitCallback, RefusedMessages, RequestHandler, SubscriptionGuard,
};
use adjutant_store::{FileStore, FleetNetwork, LeadershipLease};
use adjutant_test_support::soak::cases;
use adjutant_testkit::nodes::{TestFleet, node_name};
use adjutant_testkit::seeded_rng::SeededRng;
use parking_lot::Mutex;

use super::*;
use crate::fleet::NodeIdentity;
use crate::prepared_request::prepare;

/// Long enough that a node leads until the test deposes it.
const TERM: Duration = Duration::from_hours(1);
/// The index of the node that asks.
const ASKS: usize = 0;

/// A commit log in memory; clones share it.
#[derive(Clone, Default)]
struct MemoryCommits(Arc<Mutex<Vec<String>>>);

impl CommitLog for MemoryCommits {
    fn commits_after(&self, version: StoreVersion) -> Result<Vec<String>, StoreError> {
        let from = usize::try_from(version.0).expect("a small number");
        Ok(lock(&self.0).iter().skip(from).cloned().collect())
    }

    fn append(
        &self,
        expect: StoreVersion,
        commit: String,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), StoreError> {
        meanwhile();
        let mut list = lock(&self.0);
        let now = StoreVersion(list.len() as u64);
        if now != expect {
            return Err(StoreError::Conflict { expected: expect, now });
        }
        list.push(commit);
        Ok(())
    }

    fn check_folder(&self, _: &FileStore) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A node. The engine of the asking node is held elsewhere.
struct TestPeer {
    member: Arc<FleetMember>,
    engine: Option<Mutex<Engine<ReplicatedStore<MemoryCommits>>>>,
}

/// What happens to a node request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestFate {
    Answered,
    /// It is performed, and the reply is lost.
    ReplyLost,
    /// It never arrives.
    RequestLost,
    /// It is performed, but sending it fails with an error.
    SendFailed,
}

/// A network that loses requests and replies, and on which the leader may change after each loss.
#[derive(Default)]
pub(in crate::fleet) struct LossyNet {
    /// The agreed values, by key.
    agreed: Mutex<BTreeMap<String, AgreedValue>>,
    peers: Mutex<Vec<Arc<TestPeer>>>,
    decider: Mutex<usize>,
    /// The fates of the next requests in reverse order, each with the next leader;
    /// later requests are answered.
    fates: Mutex<Vec<(RequestFate, Option<usize>)>>,
    /// A node that comes up during the test.
    pub(in crate::fleet) arrival: Mutex<Option<NodeArrival>>,
}

/// A node that writes its agreements and comes up after this number of reads.
pub(in crate::fleet) struct NodeArrival {
    pub(in crate::fleet) reads_before: u32,
    pub(in crate::fleet) agreements: Vec<(&'static str, &'static str)>,
}

impl LossyNet {
    /// Counts a read. Returns whether the arriving node is up.
    fn count_read(&self) -> bool {
        let mut arrival = lock(&self.arrival);
        let Some(arrival) = &mut *arrival else { return false };
        if arrival.reads_before > 0 {
            arrival.reads_before -= 1;
            return false;
        }
        for (key, text) in arrival.agreements.drain(..) {
            let agreed = AgreedValue { text: text.to_owned(), revision: 1 };
            lock(&self.agreed).insert(key.to_owned(), agreed);
        }
        true
    }

    fn peer(&self, node: usize) -> Arc<TestPeer> {
        Arc::clone(&lock(&self.peers)[node])
    }

    /// Makes another node the leader. A node without an engine here takes over when it finds out.
    fn make_leader(&self, by: usize) {
        let before = std::mem::replace(&mut *lock(&self.decider), by);
        self.peer(before).member.step_down();
        let peer = self.peer(by);
        peer.member.offer_leadership(monotonic_now() + TERM);
        if let Some(engine) = &peer.engine {
            assert!(peer.member.accept_leadership(&mut lock(engine)).expect("it can take over"));
        }
    }

    /// Delivers a node request to a node, and returns its encoded reply.
    fn deliver(&self, node: &NodeId, question: &[u8]) -> Vec<u8> {
        let peers = lock(&self.peers);
        let peer = peers.iter().find(|peer| peer.member.node() == node).expect("a node");
        let question = NodeRequest::decode(question).expect("a question");
        let engine = peer.engine.as_ref().expect("only other nodes are asked");
        let mut replies = answer_nodes(&peer.member, &mut lock(engine), &[question]);
        replies.pop().expect("a reply").encode()
    }
}

impl FleetNetwork for LossyNet {
    fn current_leader(&self, _: Duration) -> Result<Option<NodeId>, StoreError> {
        Ok(Some(self.peer(*lock(&self.decider)).member.node().clone()))
    }

    fn send_request(
        &self,
        node: &NodeId,
        question: Vec<u8>,
        _: Duration,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let (fate, next) = lock(&self.fates).pop().unwrap_or((RequestFate::Answered, None));
        let reply = (fate != RequestFate::RequestLost).then(|| self.deliver(node, &question));
        if let Some(next) = next {
            self.make_leader(next);
        }
        match fate {
            RequestFate::Answered => Ok(reply),
            RequestFate::ReplyLost | RequestFate::RequestLost => Ok(None),
            RequestFate::SendFailed => {
                Err(failed_request_error("the servers do not answer".to_owned()))
            }
        }
    }

    fn acquire_leadership(
        &self,
        _: &NodeId,
        _: Duration,
    ) -> Result<Option<Box<dyn LeadershipLease>>, StoreError> {
        Ok(None)
    }

    fn serve_requests(
        &self,
        _: &NodeId,
        _: RequestHandler,
    ) -> Result<SubscriptionGuard, StoreError> {
        Ok(Box::new(()))
    }

    fn on_commit(&self, _: CommitCallback) -> Result<SubscriptionGuard, StoreError> {
        Ok(Box::new(()))
    }

    fn announce(&self, _: &NodeId, _: Vec<u8>, _: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    fn withdraw(&self, _: &NodeId, _: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    fn nodes(&self, _: Duration) -> Result<Vec<(NodeId, Vec<u8>)>, StoreError> {
        let arrived = self.count_read().then(|| NodeId::parse("arrived").expect("a good name"));
        Ok(arrived.into_iter().map(|node| (node, vec![])).collect())
    }

    fn version(&self) -> Result<StoreVersion, StoreError> {
        Ok(StoreVersion(0))
    }

    fn read_agreement(&self, on: &str) -> Result<Option<AgreedValue>, StoreError> {
        self.count_read();
        Ok(lock(&self.agreed).get(on).cloned())
    }

    fn propose_agreement(&self, on: &str, own: &str) -> Result<AgreedValue, StoreError> {
        let mut agreed = lock(&self.agreed);
        let first = || AgreedValue { text: own.to_owned(), revision: 1 };
        Ok(agreed.entry(on.to_owned()).or_insert_with(first).clone())
    }

    fn replace_agreement(
        &self,
        on: &str,
        was: &str,
        to: &str,
    ) -> Result<Option<AgreedValue>, StoreError> {
        let mut agreed = lock(&self.agreed);
        let Some(there) = agreed.get_mut(on).filter(|there| there.text == was) else {
            return Ok(None);
        };
        *there = AgreedValue { text: to.to_owned(), revision: there.revision + 1 };
        Ok(Some(there.clone()))
    }

    fn share_secret(&self, own: &str) -> Result<String, StoreError> {
        Ok(own.to_owned())
    }

    fn take_refused(&self) -> Vec<RefusedMessages> {
        vec![]
    }

    fn append_log(&self, _: &TaskId, _: u32, _: u64, _: &[u8]) -> Result<(), StoreError> {
        Ok(())
    }

    fn read_log(&self, _: &TaskId, _: u32, at: u64) -> Result<(u64, Vec<u8>), StoreError> {
        Ok((at, vec![]))
    }
}

/// A node that asks two others, one of which leads.
struct AskingNode {
    net: Arc<LossyNet>,
    nodes: TestFleet<MemoryCommits>,
    engine: Engine<ReplicatedStore<MemoryCommits>>,
}

impl AskingNode {
    fn new() -> Self {
        let (list, net) = (MemoryCommits::default(), Arc::<LossyNet>::default());
        let nodes = TestFleet::new(3, move |_| list.clone());
        let mut engines: Vec<_> = (0..3).map(|node| open(&net, &nodes, node)).collect();
        let (member, engine) = engines.remove(ASKS);
        let asks = TestPeer { member, engine: None };
        let others = engines
            .into_iter()
            .map(|(member, engine)| TestPeer { member, engine: Some(Mutex::new(engine)) });
        *lock(&net.peers) = [asks].into_iter().chain(others).map(Arc::new).collect();
        net.make_leader(1);
        Self { net, nodes, engine }
    }

    /// Asks for a task of this title, with one fate per try.
    fn add_task(
        &mut self,
        title: &str,
        fates: &[(RequestFate, Option<usize>)],
    ) -> Vec<EngineAnswer> {
        *lock(&self.net.fates) = fates.iter().rev().copied().collect();
        let new = NewTask {
            title: title.to_owned(),
            start: InitialStatus::Backlog,
            ..NewTask::default()
        };
        let by = CommandCaller::Operator(Actor::human("alice"));
        let request = EngineRequest::command(by, Command::Add(Box::new(new)));
        let request = prepare(request, None, self.engine.world());
        let member = Arc::clone(&self.net.peer(ASKS).member);
        let root = self.nodes.folder(ASKS).root().to_owned();
        forward(&member, &mut self.engine, &root, &[request]).expect("an answer")
    }

    /// Returns the number of tasks per title, as the asking node sees them.
    fn count_titles(&mut self) -> BTreeMap<String, usize> {
        self.engine.apply_other_commits().expect("it follows");
        let mut titles = BTreeMap::new();
        for task in self.engine.world().tasks() {
            *titles.entry(task.title.to_string()).or_default() += 1;
        }
        titles
    }
}

fn open(
    net: &Arc<LossyNet>,
    nodes: &TestFleet<MemoryCommits>,
    node: usize,
) -> (Arc<FleetMember>, Engine<ReplicatedStore<MemoryCommits>>) {
    let me = NodeIdentity {
        node: NodeId::parse(&node_name(node)).expect("a good name"),
        labels: vec![],
        term: TERM,
    };
    let member = FleetMember::new(Arc::<LossyNet>::clone(net), me, TERM, Path::new(""));
    let (replica, loaded) = nodes.open_replica(node).expect("the folder opens");
    let engine = Engine::start(replica, loaded, Box::new(SystemClock), Policy::default());
    let engine = engine.expect("it starts").with_gate(member.gate().clone());
    (Arc::new(member), engine)
}

/// Asks for one task, and checks that it exists once and that the answer names it.
fn check(fates: &[(RequestFate, Option<usize>)]) {
    let mut asker = AskingNode::new();
    let answers = asker.add_task("one", fates);
    assert_eq!(asker.count_titles(), [("one".to_owned(), 1)].into(), "{fates:?}");
    let told: Vec<Option<TaskId>> = answers.into_iter().map(|one| one.answer.task).collect();
    let there: Vec<Option<TaskId>> =
        asker.engine.world().tasks().map(|task| Some(task.id.clone())).collect();
    assert_eq!(told, there, "{fates:?}");
}

#[test]
fn event_names_node_that_asked() {
    let mut asker = AskingNode::new();
    let answers = asker.add_task("one", &[]);
    let sender = NodeId::parse(&node_name(ASKS)).expect("a good name");
    let nodes: Vec<_> = answers[0].events.iter().map(|event| event.node.clone()).collect();
    assert_eq!(nodes, [Some(sender)]);
}

#[test]
fn node_request_made_for_another_node_is_recognised() {
    let asker = AskingNode::new();
    let member = Arc::clone(&asker.net.peer(ASKS).member);
    let [own, other] = [0, 1].map(|node| NodeId::parse(&node_name(node)).expect("a good name"));
    let question = empty_request(&member);
    assert!(question.is_of(&own) && !question.is_of(&other));
    let renamed = NodeRequest { node: other.clone(), ..question };
    assert!(!renamed.is_of(&own) && !renamed.is_of(&other), "its id has the other name");
}

#[test]
fn node_request_with_lost_reply_is_done_once() {
    check(&[(RequestFate::Answered, None)]);
    check(&[(RequestFate::ReplyLost, None)]);
    check(&[(RequestFate::RequestLost, None), (RequestFate::ReplyLost, None)]);
    check(&[(RequestFate::SendFailed, None), (RequestFate::ReplyLost, None)]);
}

#[test]
fn node_request_with_lost_reply_is_done_once_after_leader_change() {
    check(&[(RequestFate::ReplyLost, Some(2))]);
    check(&[(RequestFate::SendFailed, Some(2)), (RequestFate::RequestLost, Some(1))]);
    // The leader that was asked first never received it.
    check(&[(RequestFate::RequestLost, Some(2)), (RequestFate::ReplyLost, Some(1))]);
}

#[test]
fn node_request_is_done_once_if_asking_node_becomes_leader() {
    check(&[(RequestFate::ReplyLost, Some(ASKS))]);
    check(&[(RequestFate::RequestLost, Some(2)), (RequestFate::RequestLost, Some(ASKS))]);
}

#[test]
fn node_request_given_up_is_never_done_later() {
    let mut asker = AskingNode::new();
    let member = Arc::clone(&asker.net.peer(ASKS).member);
    let new = NewTask { title: "late".to_owned(), ..NewTask::default() };
    let by = CommandCaller::Operator(Actor::human("alice"));
    let request = EngineRequest::command(by, Command::Add(Box::new(new)));
    let late = NodeRequest { requests: vec![request], ..empty_request(&member) };
    let encoded = late.encode().expect("it can be sent");
    *lock(&member.open_request) = Some(late);
    asker.add_task("next", &[]);
    // Only now does the request arrive.
    asker.net.deliver(&NodeId::parse(&node_name(1)).expect("a good name"), &encoded);
    assert_eq!(asker.count_titles(), [("next".to_owned(), 1)].into());
}

/// The leader asked first is slow: it takes the request from its queue when it leads again, after
/// another leader, or itself in an earlier term, has performed it.
#[test]
fn node_request_delivered_late_is_not_done_again() {
    for by in [2, 1] {
        let mut asker = AskingNode::new();
        asker.net.make_leader(by);
        let count = asker.net.peer(ASKS).member.request_count();
        asker.add_task("one", &[]);
        let late = {
            let member = Arc::clone(&asker.net.peer(ASKS).member);
            let new = NewTask { title: "one".to_owned(), ..NewTask::default() };
            let by = CommandCaller::Operator(Actor::human("alice"));
            let request = EngineRequest::command(by, Command::Add(Box::new(new)));
            let id = member.request_id(count);
            NodeRequest { id, requests: vec![request], ..empty_request(&member) }.encode()
        };
        asker.net.make_leader(3 - by);
        asker.net.make_leader(1);
        let first = NodeId::parse(&node_name(1)).expect("a good name");
        asker.net.deliver(&first, &late.expect("it can be sent"));
        assert_eq!(asker.count_titles(), [("one".to_owned(), 1)].into(), "done by {by}");
    }
}

#[test]
fn node_requests_with_random_losses_are_done_once() {
    let seed = SeededRng::seed_from_env();
    println!("ADJUTANT_SEED={seed}");
    let (mut dice, mut asker) = (SeededRng::from_seed(seed), AskingNode::new());
    let count = cases(20_u32);
    for number in 0..count {
        let fate = |dice: &mut SeededRng| {
            let next = dice.one_in(2).then(|| 1 + dice.below(2));
            (
                *dice.choose(&[
                    RequestFate::ReplyLost,
                    RequestFate::RequestLost,
                    RequestFate::SendFailed,
                ]),
                next,
            )
        };
        let tries = dice.below(4);
        let mut fates: Vec<_> = (0..tries).map(|_| fate(&mut dice)).collect();
        // The last try may find that the asking node itself leads by then.
        if let Some(last) = fates.last_mut().filter(|_| dice.one_in(4)) {
            last.1 = Some(ASKS);
        }
        asker.add_task(&format!("task {number}"), &fates);
        if *lock(&asker.net.decider) == ASKS {
            asker.net.make_leader(1 + dice.below(2));
        }
        let all = (0..=number).map(|number| (format!("task {number}"), 1)).collect();
        assert_eq!(asker.count_titles(), all, "after {fates:?}");
    }
}
