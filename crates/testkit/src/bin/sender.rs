//! One of many processes that send to one folder at once. It prints each request before sending it
//! and then its answer. It starts on command and prints a hash of its world at the end.

use std::io::{BufRead, Lines, StdinLock, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use adjutant_engine::{Engine, EngineAnswer, EngineRequest};
use adjutant_model::AnswerVerdict;
use adjutant_model::command::InitialStatus;
use adjutant_store::FileStore;
use adjutant_store::hash::ShortHash;
use adjutant_testkit::ManualClock;
use adjutant_testkit::crash_child::{NOW, open_engine, open_or_init_folder};
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add_request, message_request, task_id_of};
use adjutant_testkit::seeded_rng::SeededRng;

/// The limit on requests in one commit.
const GROUP_MAX: usize = 6;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, name, count, shared] = &arguments[..] else { panic!("home, name, count, tasks") };
    let number: u64 = name.parse().expect("a number");
    let mut sender = MessageSender::new(&PathBuf::from(home), number, shared);
    let mut lines = stdin().lock().lines();
    wait_for("go", &mut lines);
    sender.send(count.parse().expect("a count"));
    print_line("done");
    wait_for("look", &mut lines);
    sender.engine.check_all_files().expect("a look around");
    let world = format!("{:?}", sender.engine.world());
    print_line(&format!("world {}", ShortHash::digest(world.as_bytes())));
}

fn wait_for(word: &str, lines: &mut Lines<StdinLock<'_>>) {
    assert_eq!(lines.next().expect("more to come").expect("a line"), word);
}

fn print_line(line: &str) {
    let mut out = stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("the test listens");
}

struct MessageSender {
    name: u64,
    engine: Engine<FileStore>,
    rng: SeededRng,
    shared: Vec<String>,
    /// Its own tasks that are not finished.
    own_tasks: Vec<String>,
}

impl MessageSender {
    /// The clock of every other sender is a day ahead.
    fn new(home: &Path, name: u64, shared: &str) -> Self {
        let clock = ManualClock::at(NOW);
        clock.advance_ms(i64::try_from(name % 2).expect("few") * 24 * 60 * 60 * 1_000);
        let engine = open_engine(&open_or_init_folder(home), &clock);
        let shared = shared.split(',').map(str::to_owned).collect();
        Self { name, engine, rng: SeededRng::from_seed(name), shared, own_tasks: vec![] }
    }

    fn send(&mut self, count: usize) {
        let mut sent = 0;
        while sent < count {
            let size = (1 + self.rng.below(GROUP_MAX)).min(count - sent);
            let group: Vec<(String, EngineRequest)> =
                (sent..sent + size).map(|number| self.request(number)).collect();
            self.submit(group);
            sent += size;
        }
    }

    fn submit(&mut self, group: Vec<(String, EngineRequest)>) {
        let (keys, requests): (Vec<String>, Vec<EngineRequest>) = group.into_iter().unzip();
        print_line(&format!("try {}", keys.join(" ")));
        let answers = self.engine.submit(&requests).expect("answers");
        for (key, answered) in keys.iter().zip(&answers) {
            if key.starts_with("add-") {
                self.own_tasks.push(task_id_of(answered).to_string());
            }
        }
        let files: Vec<String> =
            keys.iter().zip(&answers).map(|(k, a)| format_answer(k, a)).collect();
        print_line(&format!("got {}", files.join(" ")));
    }

    /// Makes a request, and a key that identifies it in the event log.
    fn request(&mut self, number: usize) -> (String, EngineRequest) {
        let mark = format!("{}-{number}", self.name);
        match self.rng.below(10) {
            0 => (format!("add-{mark}"), add_request(&format!("add-{mark}"), InitialStatus::Ready)),
            1 | 2 if !self.own_tasks.is_empty() => {
                let task = self.own_tasks.swap_remove(self.rng.below(self.own_tasks.len()));
                let mut report = completion(&task, "a", "needs_review");
                report["payload"]["notes"] = format!("report-{mark}").into();
                (format!("report-{mark}"), message_request(&report))
            }
            3 => (format!("bad-{mark}"), EngineRequest::message(b"AOF/1 {".to_vec())),
            _ => {
                let task = self.rng.choose(&self.shared).clone();
                let text = format!("log-{mark}");
                (text.clone(), message_request(&progress(&task, "a", &text)))
            }
        }
    }
}

/// Formats a key and the ids of its events.
fn format_answer(key: &str, answered: &EngineAnswer) -> String {
    let good = !key.starts_with("bad-");
    assert_eq!(answered.answer.verdict == AnswerVerdict::Applied, good, "{answered:?}");
    let ids: Vec<String> = answered.event_ids().map(|id| id.to_string()).collect();
    format!("{key}:{}", ids.join(","))
}
