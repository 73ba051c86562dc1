//! A night in a minute: the engine and the crew of the daemon as they are, on a simulated clock,
//! with simulated agents and people, on a disk that fails.
//!
//! Everything follows from a seed. What must hold is checked after every step, from the record and
//! the machine alone; see `watch`. What a real process, file or socket does is not known here.

mod machine;
mod process;
mod script;

mod daemon;
mod desk;
mod disk;
mod plug;

mod mail;
mod people;
mod weather;

mod end;
mod watch;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use adjutant_core::policy::{AgentPolicy, OnExitOk, SchedulerPolicy};
use adjutant_core::schedule::{is_idle, next_time};
use adjutant_core::{AgentId, Policy, Status};
use adjutant_runtime::crew::{Desk as _, Give};
use adjutant_runtime::token::Secret;
use adjutant_runtime::{Clock, Engine, Request};
use adjutant_store::{MemoryStore, Store};

use crate::clock::SetClock;
use crate::dice::Dice;
use daemon::{Daemon, Turn};
use desk::Desk;
use disk::{Disk, Health};
use machine::{Machine, Reach};
use mail::Letter;
use plug::Plug;
use process::Act;
use watch::Watch;

/// Where the seed of one night is taken from, if it is to be had again.
pub const SEED: &str = "ADJUTANT_NIGHT_SEED";

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// How long everything may take to come to rest once nothing goes wrong any more.
const REST_MS_MAX: i64 = 60 * 24 * HOUR_MS;

/// More steps than this are not taken in a night unless somebody looks again and again for nothing.
const STEPS_MAX: u64 = 200_000;

/// What was seen in a night.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tale {
    /// How much time passed, on the clock of the machine.
    pub hours: u64,
    /// How often each kind of thing happened.
    pub seen: BTreeMap<String, u64>,
}

/// A night that went wrong.
#[derive(Debug)]
pub struct Broken {
    /// The seed it follows from.
    pub seed: u64,
    /// What was seen that must never be.
    pub wrong: Vec<String>,
    /// The end of its record.
    pub record: String,
}

/// One night.
struct Night {
    dice: Dice,
    clock: SetClock,
    memory: MemoryStore,
    health: Health,
    machine: Rc<RefCell<Machine>>,
    policy: Policy,
    poll_ms: i64,
    daemon: Option<Daemon>,
    office: Option<Desk>,
    mail: Vec<Letter>,
    watch: Watch,
    tale: Tale,
    /// Whether things go wrong and people are about.
    wild: bool,
    /// When the daemon looks again, or is started again.
    wakes_ms: i64,
    person_ms: i64,
    weather_ms: i64,
    tasks_left: usize,
    full_until_ms: i64,
    steps: u64,
}

/// Plays the night of a seed.
pub fn play(seed: u64, secret: &Secret) -> Result<Tale, Box<Broken>> {
    let mut night = Night::new(seed, secret.clone());
    night.go();
    let wrong = night.wrong();
    if wrong.is_empty() {
        return Ok(night.tale);
    }
    Err(Box::new(Broken { seed, wrong, record: night.last_events() }))
}

impl Night {
    fn new(seed: u64, secret: Secret) -> Self {
        let mut dice = Dice::from_seed(seed);
        let policy = policy(&mut dice);
        let memory = MemoryStore::default();
        let ttl = policy.scheduler.heartbeat_ttl_ms;
        let machine = Machine {
            now_ms: 0,
            processes: BTreeMap::new(),
            secret,
            grace_ms: 10 * SECOND_MS,
            dice: dice.split(),
            start_odds: 40,
            wrong: vec![],
        };
        Self {
            clock: SetClock::at("2026-02-09T21:00:00.000Z"),
            health: Health::new(dice.split(), 80),
            machine: Rc::new(RefCell::new(machine)),
            poll_ms: ttl / 4,
            daemon: None,
            office: None,
            mail: vec![],
            watch: Watch::new(memory.clone(), policy.clone()),
            tale: Tale::default(),
            wild: true,
            wakes_ms: 0,
            person_ms: 0,
            weather_ms: dice.between(0, HOUR_MS),
            tasks_left: 12 + dice.below(20),
            full_until_ms: 0,
            steps: 0,
            dice,
            memory,
            policy,
        }
    }

    fn go(&mut self) {
        let until = self.dice.between(12 * HOUR_MS, 72 * HOUR_MS);
        while self.now() < until && self.wrong().is_empty() {
            self.step();
        }
        self.calm();
        let until = self.now() + REST_MS_MAX;
        while !self.is_at_rest() && self.wrong().is_empty() {
            if self.now() > until {
                let wrong = format!("there is no rest: {}", self.unfinished().join(", "));
                self.watch.wrong.push(wrong);
            }
            self.step();
        }
        if self.wrong().is_empty() {
            self.watch.compare_files();
            self.watch.check_kept();
            self.check_ends();
        }
        self.tell();
    }

    fn now(&self) -> i64 {
        self.machine.borrow().now_ms
    }

    fn wrong(&self) -> Vec<String> {
        let machine = self.machine.borrow();
        self.watch.wrong.iter().chain(&machine.wrong).cloned().collect()
    }

    fn saw(&mut self, what: &str) {
        *self.tale.seen.entry(what.to_owned()).or_default() += 1;
    }

    /// Lets time pass until something happens, and everything that is due happen.
    fn step(&mut self) {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            self.watch.wrong.push("somebody never sleeps".to_owned());
        }
        let wait = (self.next_ms() - self.now()).max(0);
        self.machine.borrow_mut().now_ms += wait;
        self.clock.advance_ms(wait);
        self.agents();
        self.deliver();
        if self.wild && self.person_ms <= self.now() {
            self.person();
        }
        if self.wild && self.weather_ms <= self.now() {
            self.weather();
        }
        self.daemon_turn();
        self.check();
    }

    fn next_ms(&self) -> i64 {
        let mut next = self.wakes_ms;
        if self.wild {
            next = next.min(self.person_ms).min(self.weather_ms);
        }
        let process = self.machine.borrow().next_time();
        let letter = self.mail.iter().map(|letter| letter.at_ms).min();
        process.into_iter().chain(letter).fold(next, i64::min)
    }

    /// Agents go on; what they leave and send leaves and goes.
    fn agents(&mut self) {
        let deeds = self.machine.borrow_mut().go_on();
        for deed in deeds {
            match deed.act {
                Act::Leave(text) => {
                    self.memory.write(&format!("runs/{}/run_result.json", deed.run.task), &text);
                }
                Act::Send(text) => {
                    let now = self.now();
                    self.mail.extend(mail::send(&mut self.dice, now, &deed.run, &text));
                }
                Act::Say(_) | Act::End(_) => {}
            }
            if self.dice.once_in(4) && self.wild {
                let machine = self.machine.borrow();
                let forged =
                    mail::forge(&mut self.dice, machine.now_ms, &deed.run, &machine.secret);
                drop(machine);
                self.mail.push(forged);
            }
        }
    }

    fn deliver(&mut self) {
        let now = self.now();
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.mail).into_iter().partition(|letter| letter.at_ms <= now);
        self.mail = later;
        for letter in due {
            self.watch.look(&self.machine.borrow());
            let newest = letter.of.as_ref().map(|(task, _)| self.watch.fence(task));
            let Some(answered) = self.ask(letter.request.clone()) else {
                // Who sends it got no answer, and sends it again.
                self.mail.push(Letter { at_ms: now + MINUTE_MS, ..letter });
                continue;
            };
            match letter.of {
                None => self.watch.check_refused(&answered, "a forged report"),
                Some((_, fence)) if newest.is_some_and(|newest| fence < newest) => {
                    self.saw("a report of a replaced run");
                    self.watch.check_refused(&answered, "a report of a replaced run");
                }
                Some(_) => {}
            }
        }
    }

    /// Asks the engine: that of the daemon, or one's own, as a command does.
    fn ask(&mut self, request: Request) -> Option<adjutant_runtime::Answered> {
        if let Some(daemon) = &self.daemon
            && self.dice.once_in(2)
        {
            return daemon.ask(request).ok();
        }
        self.office()?.ask(vec![request]).ok()?.pop()
    }

    /// Returns the engine of a command, which may be killed as well.
    fn office(&mut self) -> Option<Desk> {
        if self.office.is_none() {
            let (desk, _) = self.open(if self.wild { 300 } else { 0 })?;
            self.office = Some(desk);
        }
        self.office.clone()
    }

    /// Opens the store for a program, which is killed once in so many calls.
    fn open(&mut self, odds: usize) -> Option<(Desk, Plug)> {
        let plug = Plug::new(self.dice.split(), odds);
        let mut memory = self.memory.clone();
        let loaded = memory.open();
        let disk = Disk::new(memory, self.health.clone(), plug.clone());
        let clock = Box::new(self.clock.clone());
        let engine = Engine::start(disk, loaded, clock, self.policy.clone()).ok()?;
        let (secret, mut dice) = (self.machine.borrow().secret.clone(), self.dice.split());
        let engine = engine.knowing(Some(secret)).chancing(move || dice.number());
        Some((Desk::new(engine, plug.clone(), Rc::clone(&self.machine)), plug))
    }

    fn person(&mut self) {
        self.person_ms = self.now() + self.dice.between(0, 80 * MINUTE_MS);
        self.watch.look(&self.machine.borrow());
        let request = if self.tasks_left > 0 && !self.dice.once_in(3) {
            self.tasks_left -= 1;
            Some(people::add(&mut self.dice, &self.watch.world))
        } else if self.dice.once_in(8) {
            let salvaged = self.memory.clone().salvaged().unwrap_or_default();
            (!salvaged.is_empty()).then(|| {
                let (id, name) = self.dice.one_of(&salvaged).clone();
                people::apply_salvage(id, name)
            })
        } else if self.dice.once_in(15) {
            Some(Request::SessionEnd(None))
        } else {
            people::act(&mut self.dice, &self.watch.world)
        };
        if let Some(request) = request {
            self.ask(request);
        }
        if self.daemon.is_none() && self.dice.once_in(4) {
            self.tick_once();
        }
    }

    /// Somebody gives out work by hand, where no daemon does.
    fn tick_once(&mut self) {
        if let Some((desk, plug)) = self.open(200) {
            self.saw("a tick by hand");
            let reach = Reach::new(Rc::clone(&self.machine), plug);
            Daemon::once(desk.clone(), &reach, &mut self.dice);
            self.check_desk(&desk, "a command");
        }
    }

    /// The daemon is started if there is none, hears and works, unless it is late.
    fn daemon_turn(&mut self) {
        if self.full_until_ms <= self.now() {
            self.health.set_full(false);
        }
        let late = self.wild && self.dice.once_in(5) && self.wakes_ms > self.now();
        if late {
            return;
        }
        if self.daemon.is_none() {
            if self.wakes_ms > self.now() {
                return;
            }
            self.start_daemon();
        }
        let hears_max = if self.dice.once_in(3) { self.dice.below(3) } else { usize::MAX };
        let Some(daemon) = &mut self.daemon else {
            self.wakes_ms = self.now() + SECOND_MS;
            return;
        };
        let turn = daemon.turn(&mut self.dice, hears_max);
        self.wakes_ms = self.now()
            + match turn {
                Turn::Done => self.patience(),
                Turn::Again => SECOND_MS,
                Turn::Left => self.bury(),
            };
    }

    fn start_daemon(&mut self) {
        let odds = if self.wild { 400 } else { 0 };
        if let Some((desk, plug)) = self.open(odds) {
            let reach = Reach::new(Rc::clone(&self.machine), plug.clone());
            self.daemon = Daemon::start(desk, reach, plug);
            self.saw("a daemon is started");
        }
    }

    /// The daemon is gone; returns how long until there is another one.
    fn bury(&mut self) -> i64 {
        if let Some(daemon) = self.daemon.take() {
            self.check_desk(&daemon.desk, "the daemon");
        }
        if !self.wild {
            return SECOND_MS;
        }
        let long = self.dice.once_in(3);
        self.dice.between(0, if long { 5 * HOUR_MS } else { MINUTE_MS })
    }

    /// Returns how long the daemon waits if nothing happens.
    fn patience(&self) -> i64 {
        let left = |time: adjutant_core::Time| time.as_millis() - self.clock.now().as_millis() + 1;
        let next = next_time(&self.watch.world, self.clock.now()).map_or(self.poll_ms, left);
        next.clamp(1, self.poll_ms)
    }

    fn check(&mut self) {
        self.watch.look(&self.machine.borrow());
        if let Some(daemon) = &self.daemon {
            let desk = daemon.desk.clone();
            self.check_desk(&desk, "the daemon");
        }
        if let Some(office) = self.office.clone() {
            self.check_desk(&office, "a command");
            if office.is_out() {
                self.office = None;
            }
        }
    }

    fn check_desk(&mut self, desk: &Desk, what: &str) {
        self.watch.look(&self.machine.borrow());
        for (request, answered) in desk.take_answered() {
            self.watch.check_answer(&answered);
            if let Some(Request::Line { task, fence, .. }) = request
                && self.watch.was_replaced(&task, fence, &answered)
            {
                self.watch.check_refused(&answered, "a line of a replaced run");
            }
        }
        desk.show(|world| self.watch.compare(what, world));
    }

    /// From now on nothing goes wrong, and people give on what waits for them.
    fn calm(&mut self) {
        self.wild = false;
        self.health.calm();
        self.mail.clear();
        self.machine.borrow_mut().start_odds = 0;
        if let Some(daemon) = &mut self.daemon {
            daemon.plug.calm();
            daemon.give = Give::Work;
        }
        self.office = None;
        self.wakes_ms = self.now();
        self.check();
        for request in people::hand_over(&self.watch.world) {
            // A daemon that dies in this very moment does not answer: who hears nothing asks again.
            if self.ask(request.clone()).is_none()
                && let Some(desk) = self.office()
            {
                let _ = desk.ask(vec![request]);
            }
        }
        self.check();
    }

    fn is_at_rest(&self) -> bool {
        let over = self.machine.borrow().working().is_empty() && self.mail.is_empty();
        over && is_idle(&self.watch.world, self.clock.now())
    }

    fn unfinished(&self) -> Vec<String> {
        let open = |status| !matches!(status, Status::Done | Status::Cancelled);
        let tasks = self.watch.world.tasks().filter(|task| open(task.status()));
        tasks.map(|task| format!("{} {}", task.id, task.status())).collect()
    }
}

fn policy(dice: &mut Dice) -> Policy {
    let on_exit = [OnExitOk::NoReport, OnExitOk::NeedsReview, OnExitOk::Done];
    let agents = people::AGENTS.iter().zip(on_exit).map(|(name, on_exit_ok)| {
        let slots = 1 + u32::from(dice.once_in(2));
        let name = AgentId::parse(name).expect("a good name");
        (name, AgentPolicy { slots, on_exit_ok, ..AgentPolicy::default() })
    });
    let agents = agents.collect();
    let ttls = [5 * MINUTE_MS, HOUR_MS, HOUR_MS, 2 * HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS];
    Policy {
        only: None,
        require_token: dice.once_in(3),
        scheduler: SchedulerPolicy {
            concurrency: 1 + u32::try_from(dice.below(4)).unwrap_or(0),
            attempts_max: 1 + u32::try_from(dice.below(4)).unwrap_or(0),
            backoff_ms: MINUTE_MS,
            heartbeat_ttl_ms: *dice.one_of(&ttls),
            ..SchedulerPolicy::default()
        },
        agents,
        ..Policy::default()
    }
}
