//! Sends requests to the leader, and answers the requests of other nodes.
//!
//! Nothing is done twice. A node request without a reply is sent again under the same id. The
//! current leader answers it from memory or performs it, but only if the sender has seen every
//! commit made before that leader took over. If an earlier leader performed it, those commits show
//! that: the answer is stored with the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use adjutant_core::schedule::{RunKey, is_supervised_elsewhere, runs_on};
use adjutant_model::request::{MessageOrigin, Request};
use adjutant_model::run::RunLiveness;
use adjutant_model::{Answer, AnswerVerdict, Effect, NodeId, TaskId};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_store::replicated_file::ReplicatedFile;
use adjutant_store::{FleetStore, StoreError, StoreVersion, monotonic_now};

use super::member::{FleetMember, lock};
use super::outputs::ChangedOutput;
use crate::engine::node_request::{
    NodeReply, NodeRequest, NodeRequestRef, RequestTarget, answers_from_text, answers_to_text,
};
use crate::engine::{Engine, EngineAnswer, EngineRequest};
use crate::prepared_request::PreparedRequest;
use crate::tick::TickOutcome;

/// How long to wait for one reply.
const ANSWER: Duration = Duration::from_secs(5);
/// How long to retry until a leader answers.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause before a retry.
const PAUSE: Duration = Duration::from_millis(100);

/// The result of a node request.
enum ForwardResult {
    Done {
        answers: Vec<EngineAnswer>,
        runs: Option<BTreeSet<RunKey>>,
    },
    /// This node leads by now, and no other node performed the requests.
    LedHere,
}

/// Has requests performed by the leader.
pub(crate) fn forward<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    root: &Path,
    requests: &[PreparedRequest],
) -> Result<Vec<EngineAnswer>, StoreError> {
    close_open_request(member, engine)?;
    let (fresh, taken) = skip_accepted(engine, requests);
    let changed = lock(&member.outputs).find_changed(root, engine.world(), member.node());
    let question = NodeRequest {
        files: changed.iter().map(|changed| changed.file.clone()).collect(),
        requests: fresh.iter().map(|prepared| prepared.request.clone()).collect(),
        ..empty_request(member)
    };
    let answers = match send_until_resolved(member, engine, question)? {
        ForwardResult::Done { answers, .. } => {
            lock(&member.outputs).mark_sent(changed);
            answers
        }
        ForwardResult::LedHere => {
            commit_files(member, engine, changed)?;
            engine.submit_prepared(fresh.iter().copied())?
        }
    };
    fill_answers(answers, taken)
}

/// Performs requests while this node leads. The previous leader may already have accepted a run's
/// message while its answer was lost, so such messages are left out.
pub(crate) fn perform_own<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    root: &Path,
    requests: &[PreparedRequest],
) -> Result<Vec<EngineAnswer>, StoreError> {
    commit_own_files(member, engine, root)?;
    let (fresh, taken) = skip_accepted(engine, requests);
    fill_answers(engine.submit_prepared(fresh.iter().copied())?, taken)
}

/// Returns one answer per request; a request that was left out gets an answer without effect.
fn fill_answers(
    answers: Vec<EngineAnswer>,
    taken: Vec<bool>,
) -> Result<Vec<EngineAnswer>, StoreError> {
    let mut answers = answers.into_iter();
    let answer = |taken: bool| if taken { Some(noop_answer()) } else { answers.next() };
    taken.into_iter().map(answer).collect::<Option<_>>().ok_or_else(bad_reply_error)
}

/// Leaves out messages of runs that were accepted before while the answer was lost. Returns for
/// each request whether it was left out.
fn skip_accepted<'a, S: FleetStore>(
    engine: &mut Engine<S>,
    requests: &'a [PreparedRequest],
) -> (Vec<&'a PreparedRequest>, Vec<bool>) {
    let number = |prepared: &'a PreparedRequest| match &prepared.request.request {
        Request::Message {
            origin: MessageOrigin::RunOutput { task, attempt, seq, .. }, ..
        } => Some((task, *attempt, *seq)),
        _ => None,
    };
    if requests.iter().all(|prepared| number(prepared).is_none()) {
        return (requests.iter().collect(), vec![false; requests.len()]);
    }
    let pending = engine.store().pending_effects();
    let is_noted = |(of, run, number): (&TaskId, u32, u64)| {
        pending.iter().any(|pending| match &pending.effect {
            Effect::NoteTaken { task, attempt, seq } => {
                (task, *attempt) == (of, run) && *seq >= number
            }
            _ => false,
        })
    };
    let is_taken = |prepared| number(prepared).is_some_and(is_noted);
    let taken: Vec<bool> = requests.iter().map(is_taken).collect();
    let fresh = requests.iter().zip(&taken).filter(|(_, taken)| !**taken);
    (fresh.map(|(prepared, _)| prepared).collect(), taken)
}

fn noop_answer() -> EngineAnswer {
    Answer::plain(AnswerVerdict::Noop).into()
}

/// Makes sure that an unanswered node request is done by now or never will be. A caller that still
/// wants its requests done sends them again.
fn close_open_request<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
) -> Result<(), StoreError> {
    let Some(open) = lock(&member.open_request).take() else { return Ok(()) };
    // An empty request of the same id: after it, the leader performs nothing else under that id.
    let again = Some(open.seen_version.unwrap_or_else(|| engine.store().version()));
    let nothing = NodeRequest {
        seen_version: again,
        requests: vec![],
        files: vec![],
        settled: vec![],
        ..open
    };
    send_until_resolved(member, engine, nothing).map(drop)
}

/// The tick of a follower: reports to the leader that this node is up and which runs it has, and
/// learns which runs may continue.
pub(crate) fn report_to_leader<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    lives: &BTreeMap<TaskId, RunLiveness>,
) -> Result<TickOutcome, StoreError> {
    let quiet = TickOutcome { now: SystemClock.now(), actions: vec![], answered: noop_answer() };
    let own = runs_on(engine.world(), member.node());
    let alive = |key: &&RunKey| lives.get(&key.0) == Some(&RunLiveness::Alive);
    let here: BTreeSet<RunKey> = own.iter().filter(alive).cloned().collect();
    let settled = engine.unreported_effects();
    if settled.is_empty() && was_just_reported(member, &here) {
        return Ok(quiet);
    }
    close_open_request(member, engine)?;
    let sent = monotonic_now();
    let question = NodeRequest { settled, runs: Some(here.clone()), ..empty_request(member) };
    if let ForwardResult::Done { runs: Some(runs), .. } =
        send_until_resolved(member, engine, question)?
    {
        member.grant(sent + member.ttl, runs);
        *lock(&member.last_report) = Some((sent, here));
    }
    Ok(quiet)
}

/// Returns whether the leader was told the same runs a moment ago.
fn was_just_reported(member: &FleetMember, here: &BTreeSet<RunKey>) -> bool {
    let greeted = lock(&member.last_report);
    let soon = (member.ttl / 8).min(Duration::from_secs(5));
    greeted
        .as_ref()
        .is_some_and(|(at, runs)| monotonic_now().saturating_sub(*at) < soon && runs == here)
}

fn empty_request(member: &FleetMember) -> NodeRequest {
    NodeRequest {
        id: member.next_request_id(),
        node: member.node().clone(),
        seen_version: None,
        files: vec![],
        requests: vec![],
        settled: vec![],
        runs: None,
        target: RequestTarget::Leader,
    }
}

/// Commits the files that agents of this node left, while this node leads.
pub(crate) fn commit_own_files<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    root: &Path,
) -> Result<(), StoreError> {
    let changed = lock(&member.outputs).find_changed(root, engine.world(), member.node());
    commit_files(member, engine, changed)
}

fn commit_files<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    changed: Vec<ChangedOutput>,
) -> Result<(), StoreError> {
    if changed.is_empty() {
        return Ok(());
    }
    let files: Vec<ReplicatedFile> = changed.iter().map(|changed| changed.file.clone()).collect();
    engine.commit_files(&files, member.node().as_str())?;
    lock(&member.outputs).mark_sent(changed);
    Ok(())
}

/// Sends a node request until its result is known. If that takes too long, it stays open.
fn send_until_resolved<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    mut question: NodeRequest,
) -> Result<ForwardResult, StoreError> {
    let until = monotonic_now() + PATIENCE;
    loop {
        let failed = match send_once(member, engine, &question) {
            Ok(Some(came)) => return Ok(came),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        // A node that can no longer be a member leaves, and does not wait for a leader.
        if monotonic_now() >= until || member.is_excluded() {
            *lock(&member.open_request) = Some(question);
            return Err(failed.unwrap_or_else(no_leader_error));
        }
        sleep(PAUSE);
        if engine.apply_other_commits().is_ok() {
            if let Some(text) = engine.store().take_answer(&question.id) {
                let answers = answers_from_text(&text).map_err(|_| bad_reply_error())?;
                return Ok(ForwardResult::Done { answers, runs: None });
            }
            question.seen_version = Some(engine.store().version());
        }
    }
}

/// Sends a node request once. Returns None if it has to be sent again.
fn send_once<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    question: &NodeRequest,
) -> Result<Option<ForwardResult>, StoreError> {
    let Some(node) = member.net.current_leader(member.identity.term)? else { return Ok(None) };
    if node == *member.node() {
        let seen = question.seen_version.unwrap_or_default();
        member.accept_leadership(engine)?;
        let began = member.term_start().filter(|_| member.is_leader());
        // If another leader was asked before, this node must know that it did
        // not perform the requests.
        let is_known = |began: StoreVersion| question.seen_version.is_none() || seen >= began;
        return Ok(began.is_some_and(is_known).then_some(ForwardResult::LedHere));
    }
    let encoded = question.encode().map_err(|_| bad_reply_error())?;
    let Some(reply) = member.net.send_request(&node, encoded, ANSWER)? else { return Ok(None) };
    match NodeReply::decode(&reply).map_err(|_| bad_reply_error())? {
        NodeReply::Done { version, answers, runs } => {
            engine.apply_commits_until(version)?;
            // The answer has arrived, so the copy stored with the commit is no longer needed.
            drop(engine.store().take_answer(&question.id));
            Ok(Some(ForwardResult::Done { answers, runs: Some(runs) }))
        }
        NodeReply::NotLeader | NodeReply::SenderBehind(_) => Ok(None),
        NodeReply::Failed(why) => Err(failed_request_error(why)),
    }
}

/// Sends a request to the node that has the files it needs, and waits for the answer. It is sent
/// once: without a reply, the event log shows whether it was done.
pub(crate) fn send_to_node(
    member: &FleetMember,
    node: &NodeId,
    request: &EngineRequest,
) -> Result<EngineAnswer, StoreError> {
    let question = NodeRequest {
        requests: vec![request.clone()],
        target: RequestTarget::Receiver,
        ..empty_request(member)
    };
    let encoded = question.encode().map_err(|_| bad_reply_error())?;
    let Some(reply) = member.net.send_request(node, encoded, PATIENCE)? else {
        let why = format!(
            "node {node} has the files and does not answer; `adjutant fleet status` says whether \
             it is up"
        );
        return Err(failed_request_error(why));
    };
    match NodeReply::decode(&reply).map_err(|_| bad_reply_error())? {
        NodeReply::Done { mut answers, .. } => answers.pop().ok_or_else(bad_reply_error),
        NodeReply::NotLeader | NodeReply::SenderBehind(_) => Err(bad_reply_error()),
        NodeReply::Failed(why) => Err(failed_request_error(why)),
    }
}

/// Answers the requests of other nodes, in one commit for all.
pub(crate) fn answer_nodes<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    questions: &[NodeRequest],
) -> Vec<NodeReply> {
    let mut replies: Vec<Option<NodeReply>> =
        questions.iter().map(|question| immediate_reply(member, engine, question)).collect();
    let open: Vec<&NodeRequest> = questions
        .iter()
        .zip(&replies)
        .filter(|(_, reply)| reply.is_none())
        .map(|(q, _)| q)
        .collect();
    let mut done = perform(member, engine, &open).into_iter();
    for reply in replies.iter_mut().filter(|reply| reply.is_none()) {
        *reply = done.next();
    }
    replies.into_iter().map(|reply| reply.unwrap_or(NodeReply::NotLeader)).collect()
}

/// Returns the reply to a node request that needs no commit, or None if it must be performed.
fn immediate_reply<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    question: &NodeRequest,
) -> Option<NodeReply> {
    let Some(began) = member.term_start().filter(|_| member.is_leader()) else {
        return Some(NodeReply::NotLeader);
    };
    if let Some(text) = member.remembered_reply(&question.id) {
        let answers = answers_from_text(&text).unwrap_or_default();
        return Some(done_reply(member, engine, question, answers));
    }
    // An earlier leader performed it and this copy is late; the sender finds the
    // answer in the commits.
    if engine.store().was_answered(&question.id) {
        let closes = question.is_empty();
        let reply = if closes {
            done_reply(member, engine, question, vec![])
        } else {
            NodeReply::NotLeader
        };
        return Some(reply);
    }
    let behind = question.seen_version.is_some_and(|seen| seen < began);
    behind.then_some(NodeReply::SenderBehind(began))
}

fn perform<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    questions: &[&NodeRequest],
) -> Vec<NodeReply> {
    let answered = commit_carried_files(engine, questions).and_then(|()| {
        let asked: Vec<NodeRequestRef<'_>> =
            questions.iter().map(|question| NodeRequestRef::from_request(question)).collect();
        engine.submit_node_requests(&asked)
    });
    let each = match answered {
        Ok(each) => each,
        Err(error) => return questions.iter().map(|_| error_reply(&error)).collect(),
    };
    let pairs = questions.iter().zip(each);
    pairs
        .map(|(question, answers)| {
            if !question.requests.is_empty() || question.seen_version.is_some() {
                member.remember(question.id.clone(), answers_to_text(&answers));
            }
            done_reply(member, engine, question, answers)
        })
        .collect()
}

fn commit_carried_files<S: FleetStore>(
    engine: &mut Engine<S>,
    questions: &[&NodeRequest],
) -> Result<(), StoreError> {
    for question in questions.iter().filter(|question| !question.files.is_empty()) {
        // A node has files of its own runs only; those of a task that moved on are left out.
        let is_own = |file: &&ReplicatedFile| {
            let task = engine.world().task(&file.task);
            task.is_some_and(|task| !is_supervised_elsewhere(task, &question.node))
        };
        let own: Vec<ReplicatedFile> = question.files.iter().filter(is_own).cloned().collect();
        if !own.is_empty() {
            engine.commit_files(&own, question.node.as_str())?;
        }
    }
    Ok(())
}

fn done_reply<S: FleetStore>(
    member: &FleetMember,
    engine: &mut Engine<S>,
    question: &NodeRequest,
    answers: Vec<EngineAnswer>,
) -> NodeReply {
    if let Some(runs) = &question.runs {
        member.record_report(question.node.clone(), runs.clone());
    }
    let version = engine.store().version();
    NodeReply::Done { version, answers, runs: runs_on(engine.world(), &question.node) }
}

fn error_reply(error: &StoreError) -> NodeReply {
    match error {
        StoreError::Fenced => NodeReply::NotLeader,
        other => NodeReply::Failed(adjutant_store::format_error_chain(other)),
    }
}

fn no_leader_error() -> StoreError {
    let why = "the fleet has no leader, or the leader cannot be reached";
    unanswered_error(io::Error::new(io::ErrorKind::HostUnreachable, why))
}

fn bad_reply_error() -> StoreError {
    failed_request_error(
        "another node sent an invalid reply; check that all nodes run the same version".to_owned(),
    )
}

fn failed_request_error(why: String) -> StoreError {
    unanswered_error(io::Error::other(why))
}

fn unanswered_error(source: io::Error) -> StoreError {
    let (attempt, path) = ("ask the leader of", "the fleet".into());
    StoreError::Io { attempt, path, source }
}

#[cfg(test)]
pub(super) mod tests;
