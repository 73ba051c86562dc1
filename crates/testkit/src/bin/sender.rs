//! One of many that send to one folder at once. Says what it is about to ask for, and then what it
//! was answered; starts when it is told to, and tells at the end what world it sees.

use std::io::{BufRead, Lines, StdinLock, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use adjutant_core::Verdict;
use adjutant_core::command::Start;
use adjutant_runtime::{Answered, Engine, Request};
use adjutant_store::FileStore;
use adjutant_store::hash::Hash;
use adjutant_testkit::SetClock;
use adjutant_testkit::dice::Dice;
use adjutant_testkit::hand::{NOW, folder, open};
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add, id_of, send};

/// The most requests that go into one commit.
const GROUP_MAX: usize = 6;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, name, count, shared] = &arguments[..] else { panic!("home, name, count, tasks") };
    let number: u64 = name.parse().expect("a number");
    let mut sender = Sender::new(&PathBuf::from(home), number, shared);
    let mut told = stdin().lock().lines();
    wait_for("go", &mut told);
    sender.send(count.parse().expect("a count"));
    say("done");
    wait_for("look", &mut told);
    sender.engine.look_around().expect("a look around");
    let world = format!("{:?}", sender.engine.world());
    say(&format!("world {}", Hash::of(world.as_bytes())));
}

fn wait_for(word: &str, told: &mut Lines<StdinLock<'_>>) {
    assert_eq!(told.next().expect("more to come").expect("a line"), word);
}

fn say(line: &str) {
    let mut out = stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody listens");
}

struct Sender {
    name: u64,
    engine: Engine<FileStore>,
    dice: Dice,
    shared: Vec<String>,
    /// Tasks of its own that are not finished.
    own: Vec<String>,
}

impl Sender {
    /// Every other one is a day ahead of its time.
    fn new(home: &Path, name: u64, shared: &str) -> Self {
        let clock = SetClock::at(NOW);
        clock.advance_ms(i64::try_from(name % 2).expect("few") * 24 * 60 * 60 * 1_000);
        let engine = open(&folder(home), &clock);
        let shared = shared.split(',').map(str::to_owned).collect();
        Self { name, engine, dice: Dice::from_seed(name), shared, own: vec![] }
    }

    fn send(&mut self, count: usize) {
        let mut sent = 0;
        while sent < count {
            let size = (1 + self.dice.below(GROUP_MAX)).min(count - sent);
            let group: Vec<(String, Request)> =
                (sent..sent + size).map(|number| self.request(number)).collect();
            self.submit(group);
            sent += size;
        }
    }

    fn submit(&mut self, group: Vec<(String, Request)>) {
        let (keys, requests): (Vec<String>, Vec<Request>) = group.into_iter().unzip();
        say(&format!("try {}", keys.join(" ")));
        let answers = self.engine.submit(&requests).expect("answers");
        for (key, answered) in keys.iter().zip(&answers) {
            if key.starts_with("add-") {
                self.own.push(id_of(answered).to_string());
            }
        }
        let said: Vec<String> = keys.iter().zip(&answers).map(|(k, a)| answer(k, a)).collect();
        say(&format!("got {}", said.join(" ")));
    }

    /// Makes a request, and a key by which it is found again in the record.
    fn request(&mut self, number: usize) -> (String, Request) {
        let mark = format!("{}-{number}", self.name);
        match self.dice.below(10) {
            0 => (format!("add-{mark}"), add(&format!("add-{mark}"), Start::Ready)),
            1 | 2 if !self.own.is_empty() => {
                let task = self.own.swap_remove(self.dice.below(self.own.len()));
                let mut report = completion(&task, "a", "needs_review");
                report["payload"]["notes"] = format!("report-{mark}").into();
                (format!("report-{mark}"), send(&report))
            }
            3 => (format!("bad-{mark}"), Request::Message(b"AOF/1 {".to_vec())),
            _ => {
                let task = self.dice.one_of(&self.shared).clone();
                let text = format!("log-{mark}");
                (text.clone(), send(&progress(&task, "a", &text)))
            }
        }
    }
}

/// A key, a verdict, and the events.
fn answer(key: &str, answered: &Answered) -> String {
    let good = !key.starts_with("bad-");
    assert_eq!(answered.answer.verdict == Verdict::Applied, good, "{answered:?}");
    let ids: Vec<String> = answered.event_ids().map(|id| id.to_string()).collect();
    format!("{key}:{}", ids.join(","))
}
