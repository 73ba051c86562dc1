//! Asking the node that decides, and being asked.
//!
//! Nothing is done twice. A question that got no answer is asked again under the same name, and
//! whoever decides by then answers it from what it remembers, or does it; but only if whoever asks
//! has seen everything that was committed before that node took over. Whether an earlier decider
//! did it is in there: the answer travels with the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use adjutant_core::run::Life;
use adjutant_core::schedule::{RunKey, runs_on};
use adjutant_core::{Answer, Effect, NodeId, TaskId, Verdict};
use adjutant_store::file::Carried;
use adjutant_store::{EffectId, Store, StoreError, Version, steady};

use super::ask::{answers_from_text, answers_to_text};
use super::member::{Member, lock};
use super::outputs::Changed;
use super::{Question, Reply, To};
use crate::clock::{Clock, SystemClock};
use crate::engine::{Answered, Engine, Request};
use crate::tick::Ticked;

/// How long one answer is waited for.
const ANSWER: Duration = Duration::from_secs(5);
/// How long somebody is looked for who decides.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait before asking again.
const PAUSE: Duration = Duration::from_millis(100);

/// What came of a question.
enum Came {
    /// It is done.
    Done { answers: Vec<Answered>, runs: Option<BTreeSet<RunKey>> },
    /// This node decides by now, and nobody else did it.
    Ours,
}

/// Has requests done by whoever decides.
pub(crate) fn forward<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    root: &Path,
    requests: &[Request],
) -> Result<Vec<Answered>, StoreError> {
    close(member, engine)?;
    let (fresh, taken) = sift(engine, requests);
    let changed = lock(&member.outputs).changed(root, engine.world(), member.node());
    let question = Question {
        files: changed.iter().map(|changed| changed.file.clone()).collect(),
        requests: fresh.clone(),
        ..empty(member)
    };
    let answers = match resolve(member, engine, question)? {
        Came::Done { answers, .. } => {
            lock(&member.outputs).sent(changed);
            answers
        }
        Came::Ours => {
            carry(member, engine, changed)?;
            engine.submit(&fresh)?
        }
    };
    whole(answers, taken)
}

/// Does requests where this node decides. What a run said may have been taken by the node that
/// decided before, when the answer to that was lost.
pub(crate) fn decide_own<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    root: &Path,
    requests: &[Request],
) -> Result<Vec<Answered>, StoreError> {
    carry_own(member, engine, root)?;
    if !requests.iter().any(is_line) {
        return engine.submit(requests);
    }
    let (fresh, taken) = sift(engine, requests);
    whole(engine.submit(&fresh)?, taken)
}

fn is_line(request: &Request) -> bool {
    matches!(plain(request), Request::Line { .. })
}

/// Returns an answer to each request: those that were left out did nothing.
fn whole(answers: Vec<Answered>, taken: Vec<bool>) -> Result<Vec<Answered>, StoreError> {
    let mut answers = answers.into_iter();
    let answer = |taken: bool| if taken { Some(nothing()) } else { answers.next() };
    taken.into_iter().map(answer).collect::<Option<_>>().ok_or_else(nonsense)
}

/// Leaves out the messages of runs that were taken before, when the answer to that was lost, and
/// says of each request whether it was left out.
fn sift<S: Store>(engine: &mut Engine<S>, requests: &[Request]) -> (Vec<Request>, Vec<bool>) {
    let owed = engine.store().owed();
    let noted = |of: &TaskId, run: u32, number: u64| {
        owed.iter().any(|owed| match &owed.effect {
            Effect::NoteTaken { task, attempt, seq } => {
                (task, *attempt) == (of, run) && *seq >= number
            }
            _ => false,
        })
    };
    let is_taken = |request: &Request| match plain(request) {
        Request::Line { task, attempt, seq, .. } => noted(task, *attempt, *seq),
        _ => false,
    };
    let taken: Vec<bool> = requests.iter().map(is_taken).collect();
    let fresh = requests.iter().zip(&taken).filter(|(_, taken)| !**taken);
    (fresh.map(|(request, _)| request.clone()).collect(), taken)
}

/// Returns the request without what was seen along with it.
fn plain(request: &Request) -> &Request {
    match request {
        Request::Seen { of, .. } => plain(of),
        other => other,
    }
}

fn nothing() -> Answered {
    Answered { answer: Answer::plain(Verdict::Noop), events: vec![], owed: vec![] }
}

/// Makes sure that a question of which nothing is known is done by now or never will be. Whoever
/// still wants what it asked for asks anew.
fn close<S: Store>(member: &Member, engine: &mut Engine<S>) -> Result<(), StoreError> {
    let Some(open) = lock(&member.open).take() else { return Ok(()) };
    // Under the same name nothing is asked for: whoever decides does nothing under it any more.
    let again = Some(open.again.unwrap_or_else(|| engine.store().version()));
    let nothing = Question { again, requests: vec![], files: vec![], settled: vec![], ..open };
    resolve(member, engine, nothing).map(drop)
}

/// The tick of a node that does not decide: says that it is there and which runs it has, and learns
/// which may go on.
pub(crate) fn greet<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    lives: &BTreeMap<TaskId, Life>,
) -> Result<Ticked, StoreError> {
    let quiet = Ticked { now: SystemClock.now(), actions: vec![], answered: nothing() };
    let own = runs_on(engine.world(), member.node());
    let alive = |key: &&RunKey| lives.get(&key.0) == Some(&Life::Alive);
    let here: BTreeSet<RunKey> = own.iter().filter(alive).cloned().collect();
    let settled = engine.unsettled();
    if settled.is_empty() && is_fresh(member, &here) {
        return Ok(quiet);
    }
    close(member, engine)?;
    let sent = steady();
    let question = Question { settled, runs: Some(here.clone()), ..empty(member) };
    if let Came::Done { runs: Some(runs), .. } = resolve(member, engine, question)? {
        member.grant(sent + member.ttl, runs);
        *lock(&member.greeted) = Some((sent, here));
    }
    Ok(quiet)
}

/// Says whether the node that decides was told the same a moment ago.
fn is_fresh(member: &Member, here: &BTreeSet<RunKey>) -> bool {
    let greeted = lock(&member.greeted);
    let soon = (member.ttl / 8).min(Duration::from_secs(5));
    greeted.as_ref().is_some_and(|(at, runs)| steady().saturating_sub(*at) < soon && runs == here)
}

fn empty(member: &Member) -> Question {
    Question {
        id: member.next_question(),
        node: member.node().clone(),
        again: None,
        files: vec![],
        requests: vec![],
        settled: vec![],
        runs: None,
        to: To::Decider,
    }
}

/// Carries what agents of this node left, where this node decides.
pub(crate) fn carry_own<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    root: &Path,
) -> Result<(), StoreError> {
    let changed = lock(&member.outputs).changed(root, engine.world(), member.node());
    carry(member, engine, changed)
}

fn carry<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    changed: Vec<Changed>,
) -> Result<(), StoreError> {
    if changed.is_empty() {
        return Ok(());
    }
    let files: Vec<Carried> = changed.iter().map(|changed| changed.file.clone()).collect();
    engine.carry(&files, member.node().as_str())?;
    lock(&member.outputs).sent(changed);
    Ok(())
}

/// Asks until it is known what came of it. If that takes too long, the question stays open.
fn resolve<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    mut question: Question,
) -> Result<Came, StoreError> {
    let until = steady() + PATIENCE;
    loop {
        let failed = match ask_once(member, engine, &question) {
            Ok(Some(came)) => return Ok(came),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        // A node that is none of the others any more leaves, and waits for nobody.
        if steady() >= until || member.is_unfit() {
            *lock(&member.open) = Some(question);
            return Err(failed.unwrap_or_else(nobody));
        }
        sleep(PAUSE);
        if engine.follow_others().is_ok() {
            if let Some(text) = engine.store().answer(&question.id) {
                let answers = answers_from_text(&text).map_err(|_| nonsense())?;
                return Ok(Came::Done { answers, runs: None });
            }
            question.again = Some(engine.store().version());
        }
    }
}

/// Asks whoever decides, once. None if it has to be asked again.
fn ask_once<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    question: &Question,
) -> Result<Option<Came>, StoreError> {
    let Some(node) = member.net.decider(member.me.term)? else { return Ok(None) };
    if node == *member.node() {
        let seen = question.again.unwrap_or_default();
        member.begin(engine)?;
        let began = member.term_began().filter(|_| member.decides());
        // What was asked of another before must be known not to have been done.
        let is_known = |began: Version| question.again.is_none() || seen >= began;
        return Ok(began.is_some_and(is_known).then_some(Came::Ours));
    }
    let encoded = question.encode().map_err(|_| nonsense())?;
    let Some(reply) = member.net.ask(&node, encoded, ANSWER)? else { return Ok(None) };
    match Reply::decode(&reply).map_err(|_| nonsense())? {
        Reply::Done { version, answers, runs } => {
            engine.follow_until(version)?;
            // It is here, and need not be kept for whoever comes for it.
            drop(engine.store().answer(&question.id));
            Ok(Some(Came::Done { answers, runs: Some(runs) }))
        }
        Reply::NotDeciding | Reply::Behind(_) => Ok(None),
        Reply::Failed(why) => Err(failure(why)),
    }
}

/// Brings a request to the node that has what it is about, and waits for what came of it. It is
/// asked once: whether a question without an answer was done is seen in the record.
pub(crate) fn bring(
    member: &Member,
    node: &NodeId,
    request: &Request,
) -> Result<Answered, StoreError> {
    let question = Question { requests: vec![request.clone()], to: To::Itself, ..empty(member) };
    let encoded = question.encode().map_err(|_| nonsense())?;
    let Some(reply) = member.net.ask(node, encoded, PATIENCE)? else {
        let why = format!(
            "{node} has the files this is about, and does not answer; `adjutant fleet status` says \
             whether it is up"
        );
        return Err(failure(why));
    };
    match Reply::decode(&reply).map_err(|_| nonsense())? {
        Reply::Done { mut answers, .. } => answers.pop().ok_or_else(nonsense),
        Reply::NotDeciding | Reply::Behind(_) => Err(nonsense()),
        Reply::Failed(why) => Err(failure(why)),
    }
}

/// Answers what other nodes ask this one, in one commit for all.
pub(crate) fn hear<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    questions: &[Question],
) -> Vec<Reply> {
    let mut replies: Vec<Option<Reply>> =
        questions.iter().map(|question| at_once(member, engine, question)).collect();
    let open: Vec<&Question> = questions
        .iter()
        .zip(&replies)
        .filter(|(_, reply)| reply.is_none())
        .map(|(q, _)| q)
        .collect();
    let mut done = perform(member, engine, &open).into_iter();
    for reply in replies.iter_mut().filter(|reply| reply.is_none()) {
        *reply = done.next();
    }
    replies.into_iter().map(|reply| reply.unwrap_or(Reply::NotDeciding)).collect()
}

/// Answers what needs nothing done.
fn at_once<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    question: &Question,
) -> Option<Reply> {
    let Some(began) = member.term_began().filter(|_| member.decides()) else {
        return Some(Reply::NotDeciding);
    };
    if let Some(text) = member.answered(&question.id) {
        let answers = answers_from_text(&text).unwrap_or_default();
        return Some(done(member, engine, question, answers));
    }
    // It was done by an earlier decider, and comes late: whoever asked finds that in the commits.
    if engine.store().was_answered(&question.id) {
        let closes = question.asks_for_nothing();
        let reply =
            if closes { done(member, engine, question, vec![]) } else { Reply::NotDeciding };
        return Some(reply);
    }
    let behind = question.again.is_some_and(|seen| seen < began);
    behind.then_some(Reply::Behind(began))
}

fn perform<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    questions: &[&Question],
) -> Vec<Reply> {
    let answered = carried(engine, questions).and_then(|()| {
        let asked: Vec<Asked<'_>> = questions.iter().map(|question| Asked::of(question)).collect();
        engine.submit_asked(&asked)
    });
    let each = match answered {
        Ok(each) => each,
        Err(error) => return questions.iter().map(|_| refusal(&error)).collect(),
    };
    let pairs = questions.iter().zip(each);
    pairs
        .map(|(question, answers)| {
            if !question.requests.is_empty() || question.again.is_some() {
                member.remember(question.id.clone(), answers_to_text(&answers));
            }
            done(member, engine, question, answers)
        })
        .collect()
}

fn carried<S: Store>(engine: &mut Engine<S>, questions: &[&Question]) -> Result<(), StoreError> {
    let files = questions.iter().filter(|question| !question.files.is_empty());
    files
        .map(|question| engine.carry(&question.files, question.node.as_str()))
        .collect::<Result<Vec<()>, _>>()
        .map(drop)
}

fn done<S: Store>(
    member: &Member,
    engine: &mut Engine<S>,
    question: &Question,
    answers: Vec<Answered>,
) -> Reply {
    if let Some(runs) = &question.runs {
        member.heard(question.node.clone(), runs.clone());
    }
    let version = engine.store().version();
    Reply::Done { version, answers, runs: runs_on(engine.world(), &question.node) }
}

fn refusal(error: &StoreError) -> Reply {
    match error {
        StoreError::Fenced => Reply::NotDeciding,
        other => Reply::Failed(crate::daemon::in_one_line(other)),
    }
}

/// What one node asks for, in the commit of a group.
pub(crate) struct Asked<'a> {
    /// What it is asked under.
    pub(crate) id: &'a str,
    /// What is asked for.
    pub(crate) requests: &'a [Request],
    /// What is done of what was owed.
    pub(crate) settled: &'a [EffectId],
}

impl<'a> Asked<'a> {
    fn of(question: &'a Question) -> Self {
        Self { id: &question.id, requests: &question.requests, settled: &question.settled }
    }
}

fn nobody() -> StoreError {
    let why = "no node decides, or it cannot be reached";
    unanswered(io::Error::new(io::ErrorKind::HostUnreachable, why))
}

fn nonsense() -> StoreError {
    failure("what another node said makes no sense; do all run the same version?".to_owned())
}

fn failure(why: String) -> StoreError {
    unanswered(io::Error::other(why))
}

fn unanswered(source: io::Error) -> StoreError {
    let (attempt, path) = ("ask the node that decides about", "the fleet".into());
    StoreError::Io { attempt, path, source }
}

#[cfg(test)]
pub(super) mod tests;
