//! Simulates a project: the real engine and run manager on a simulated clock, with simulated agents
//! and people, on a disk that fails.
//!
//! Everything follows from a seed. Invariants are checked after every step, from the event log and
//! the simulated machine alone; see `invariant_checker`. The simulation has no real processes, files or
//! sockets.

mod agent_script;
mod machine;
mod process;

mod daemon;
mod faulty_disk;
mod power;
mod sim_engine;

mod fault_schedule;
mod message_transit;
mod people;

mod final_checks;
mod invariant_checker;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use adjutant_config::run_token::TokenSecret;
use adjutant_core::schedule::{is_idle, next_wake_time};
use adjutant_daemon::run_manager::{AssignMode, EngineAccess as _};
use adjutant_engine::{Engine, EngineRequest, Request};
use adjutant_model::policy::{AgentPolicy, OnExitOk, SchedulerPolicy};
use adjutant_model::request::MessageOrigin;
use adjutant_model::{AgentId, Policy, Status};
use adjutant_process::clock::Clock;
use adjutant_store::{MemoryStore, Store};
use daemon::{SimDaemon, TurnResult};
use faulty_disk::{DiskHealth, FaultyDisk};
use invariant_checker::InvariantChecker;
use machine::{SimMachine, SimRunBackend};
use message_transit::MessageInTransit;
use power::PowerSwitch;
use process::AgentAct;
use sim_engine::SimEngine;

use crate::clock::ManualClock;
use crate::seeded_rng::SeededRng;

/// The environment variable with the seed of one simulation, to repeat it.
pub const SIM_SEED_VARIABLE: &str = "ADJUTANT_NIGHT_SEED";

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// The time everything may take to come to rest once nothing fails any more.
const REST_MS_MAX: i64 = 60 * 24 * HOUR_MS;

/// A simulation with more steps than this is in an endless loop.
const STEPS_MAX: u64 = 200_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimReport {
    /// The time that passed on the clock of the machine.
    pub hours: u64,
    /// How often each kind of event happened.
    pub counts: BTreeMap<String, u64>,
}

/// A simulation that broke an invariant.
#[derive(Debug)]
pub struct SimFailure {
    pub seed: u64,
    /// The violations that were found.
    pub violations: Vec<String>,
    /// The end of its event log.
    pub last_events: String,
}

struct ProjectSimulation {
    rng: SeededRng,
    clock: ManualClock,
    memory: MemoryStore,
    health: DiskHealth,
    machine: Rc<RefCell<SimMachine>>,
    policy: Policy,
    poll_ms: i64,
    daemon: Option<SimDaemon>,
    command_engine: Option<SimEngine>,
    messages_in_transit: Vec<MessageInTransit>,
    checker: InvariantChecker,
    report: SimReport,
    /// Whether faults happen and people act.
    faults_enabled: bool,
    /// When the daemon wakes up, or is started again.
    daemon_wakes_ms: i64,
    next_person_ms: i64,
    next_fault_ms: i64,
    tasks_left: usize,
    full_until_ms: i64,
    steps: u64,
}

/// Simulates a project with this seed.
pub fn simulate(seed: u64, secret: &TokenSecret) -> Result<SimReport, Box<SimFailure>> {
    let mut simulation = ProjectSimulation::new(seed, secret.clone());
    simulation.run();
    let wrong = simulation.violations();
    if wrong.is_empty() {
        return Ok(simulation.report);
    }
    Err(Box::new(SimFailure { seed, violations: wrong, last_events: simulation.last_events() }))
}

impl ProjectSimulation {
    fn new(seed: u64, secret: TokenSecret) -> Self {
        let mut rng = SeededRng::from_seed(seed);
        let policy = random_policy(&mut rng);
        let memory = MemoryStore::default();
        let ttl = policy.scheduler.heartbeat_ttl_ms;
        let machine = SimMachine {
            now_ms: 0,
            processes: BTreeMap::new(),
            secret,
            grace_ms: 10 * SECOND_MS,
            rng: rng.split(),
            start_odds: 40,
            violations: vec![],
        };
        Self {
            clock: ManualClock::at("2026-02-09T21:00:00.000Z"),
            health: DiskHealth::new(rng.split(), 80),
            machine: Rc::new(RefCell::new(machine)),
            poll_ms: ttl / 4,
            daemon: None,
            command_engine: None,
            messages_in_transit: vec![],
            checker: InvariantChecker::new(memory.clone(), policy.clone()),
            report: SimReport::default(),
            faults_enabled: true,
            daemon_wakes_ms: 0,
            next_person_ms: 0,
            next_fault_ms: rng.between(0, HOUR_MS),
            tasks_left: 12 + rng.below(20),
            full_until_ms: 0,
            steps: 0,
            rng,
            memory,
            policy,
        }
    }

    fn run(&mut self) {
        let until = self.rng.between(12 * HOUR_MS, 72 * HOUR_MS);
        while self.now() < until && self.violations().is_empty() {
            self.step();
        }
        self.stop_faults();
        let until = self.now() + REST_MS_MAX;
        while !self.is_at_rest() && self.violations().is_empty() {
            if self.now() > until {
                let wrong = format!("there is no rest: {}", self.unfinished_tasks().join(", "));
                self.checker.violations.push(wrong);
            }
            self.step();
        }
        if self.violations().is_empty() {
            self.checker.compare_files();
            self.checker.check_nothing_lost();
            self.check_ends();
        }
        self.fill_report();
    }

    fn now(&self) -> i64 {
        self.machine.borrow().now_ms
    }

    fn violations(&self) -> Vec<String> {
        let machine = self.machine.borrow();
        self.checker.violations.iter().chain(&machine.violations).cloned().collect()
    }

    fn count_event(&mut self, what: &str) {
        *self.report.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Advances the time to the next event and performs everything that is due.
    fn step(&mut self) {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            self.checker.violations.push("a process never sleeps".to_owned());
        }
        let wait = (self.next_event_ms() - self.now()).max(0);
        self.machine.borrow_mut().now_ms += wait;
        self.clock.advance_ms(wait);
        self.advance_agents();
        self.deliver_messages();
        if self.faults_enabled && self.next_person_ms <= self.now() {
            self.act_as_person();
        }
        if self.faults_enabled && self.next_fault_ms <= self.now() {
            self.inject_fault();
        }
        self.run_daemon_turn();
        self.check();
    }

    fn next_event_ms(&self) -> i64 {
        let mut next = self.daemon_wakes_ms;
        if self.faults_enabled {
            next = next.min(self.next_person_ms).min(self.next_fault_ms);
        }
        let process = self.machine.borrow().next_event_ms();
        let letter = self.messages_in_transit.iter().map(|letter| letter.at_ms).min();
        process.into_iter().chain(letter).fold(next, i64::min)
    }

    /// Advances the agents, and delivers the files and messages they leave.
    fn advance_agents(&mut self) {
        let actions = self.machine.borrow_mut().advance();
        for visible in actions {
            match visible.action {
                AgentAct::WriteResult(text) => {
                    self.memory.write(&format!("runs/{}/run_result.json", visible.run.task), &text);
                }
                AgentAct::Send(text) => {
                    let now = self.now();
                    self.messages_in_transit.extend(message_transit::send_report(
                        &mut self.rng,
                        now,
                        &visible.run,
                        &text,
                    ));
                }
                AgentAct::Print(_) | AgentAct::Exit(_) => {}
            }
            if self.rng.one_in(4) && self.faults_enabled {
                let machine = self.machine.borrow();
                let forged = message_transit::forge_report(
                    &mut self.rng,
                    machine.now_ms,
                    &visible.run,
                    &machine.secret,
                );
                drop(machine);
                self.messages_in_transit.push(forged);
            }
        }
    }

    fn deliver_messages(&mut self) {
        let now = self.now();
        let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.messages_in_transit)
            .into_iter()
            .partition(|letter| letter.at_ms <= now);
        self.messages_in_transit = later;
        for letter in due {
            self.checker.catch_up(&self.machine.borrow());
            let newest = letter.run.as_ref().map(|(task, _)| self.checker.highest_fence(task));
            let Some(answered) = self.ask(letter.request.clone()) else {
                // The sender got no answer and sends it again.
                self.messages_in_transit
                    .push(MessageInTransit { at_ms: now + MINUTE_MS, ..letter });
                continue;
            };
            match letter.run {
                None => self.checker.check_refused(&answered, "a forged report"),
                Some((_, fence)) if newest.is_some_and(|newest| fence < newest) => {
                    self.count_event("a report of a replaced run");
                    self.checker.check_refused(&answered, "a report of a replaced run");
                }
                Some(_) => {}
            }
        }
    }

    /// Asks the engine of the daemon, or an engine of its own, as a command does.
    fn ask(&mut self, request: EngineRequest) -> Option<adjutant_engine::EngineAnswer> {
        if let Some(daemon) = &self.daemon
            && self.rng.one_in(2)
        {
            return daemon.ask(request).ok();
        }
        self.command_engine()?.ask(vec![request]).ok()?.pop()
    }

    /// Returns the engine of a command, which may be killed as well.
    fn command_engine(&mut self) -> Option<SimEngine> {
        if self.command_engine.is_none() {
            let (engine, _) = self.open_engine(if self.faults_enabled { 300 } else { 0 })?;
            self.command_engine = Some(engine);
        }
        self.command_engine.clone()
    }

    /// Opens the store for a program that is killed once in `odds` calls.
    fn open_engine(&mut self, odds: usize) -> Option<(SimEngine, PowerSwitch)> {
        let power = PowerSwitch::new(self.rng.split(), odds);
        let mut memory = self.memory.clone();
        let loaded = memory.open();
        let disk = FaultyDisk::new(memory, self.health.clone(), power.clone());
        let clock = Box::new(self.clock.clone());
        let engine = Engine::start(disk, loaded, clock, self.policy.clone()).ok()?;
        let (secret, mut rng) = (self.machine.borrow().secret.clone(), self.rng.split());
        let engine = engine.with_secret(Some(secret)).with_rng(move || rng.next_u64());
        Some((SimEngine::new(engine, power.clone(), Rc::clone(&self.machine)), power))
    }

    fn act_as_person(&mut self) {
        self.next_person_ms = self.now() + self.rng.between(0, 80 * MINUTE_MS);
        self.checker.catch_up(&self.machine.borrow());
        let request = if self.tasks_left > 0 && !self.rng.one_in(3) {
            self.tasks_left -= 1;
            Some(people::add_random_task(&mut self.rng, &self.checker.world))
        } else if self.rng.one_in(8) {
            let salvaged = self.memory.clone().list_salvage().unwrap_or_default();
            (!salvaged.is_empty()).then(|| {
                let (id, name) = self.rng.choose(&salvaged).clone();
                people::apply_salvage(id, name)
            })
        } else if self.rng.one_in(15) {
            Some(Request::SessionEnd(None).into())
        } else {
            people::random_action(&mut self.rng, &self.checker.world)
        };
        if let Some(request) = request {
            self.ask(request);
        }
        if self.daemon.is_none() && self.rng.one_in(4) {
            self.tick_by_hand();
        }
    }

    /// An operator runs one tick by hand while no daemon runs.
    fn tick_by_hand(&mut self) {
        if let Some((engine, power)) = self.open_engine(200) {
            self.count_event("a tick by hand");
            let reach = SimRunBackend::new(Rc::clone(&self.machine), power);
            SimDaemon::run_single_tick(engine.clone(), &reach, &mut self.rng);
            self.check_engine(&engine, "a command");
        }
    }

    /// Starts the daemon if none runs, and gives it a turn, unless it is delayed.
    fn run_daemon_turn(&mut self) {
        if self.full_until_ms <= self.now() {
            self.health.set_full(false);
        }
        let late = self.faults_enabled && self.rng.one_in(5) && self.daemon_wakes_ms > self.now();
        if late {
            return;
        }
        if self.daemon.is_none() {
            if self.daemon_wakes_ms > self.now() {
                return;
            }
            self.start_daemon();
        }
        let hears_max = if self.rng.one_in(3) { self.rng.below(3) } else { usize::MAX };
        let Some(daemon) = &mut self.daemon else {
            self.daemon_wakes_ms = self.now() + SECOND_MS;
            return;
        };
        let turn = daemon.turn(&mut self.rng, hears_max);
        self.daemon_wakes_ms = self.now()
            + match turn {
                TurnResult::Done => self.daemon_wait_ms(),
                TurnResult::RetrySoon => SECOND_MS,
                TurnResult::Exited => self.remove_dead_daemon(),
            };
    }

    fn start_daemon(&mut self) {
        let odds = if self.faults_enabled { 400 } else { 0 };
        if let Some((engine, power)) = self.open_engine(odds) {
            let reach = SimRunBackend::new(Rc::clone(&self.machine), power.clone());
            self.daemon = SimDaemon::start(engine, reach, power);
            self.count_event("a daemon is started");
        }
    }

    /// Removes the dead daemon; returns the time until the next one starts.
    fn remove_dead_daemon(&mut self) -> i64 {
        if let Some(daemon) = self.daemon.take() {
            self.check_engine(&daemon.engine, "the daemon");
        }
        if !self.faults_enabled {
            return SECOND_MS;
        }
        let long = self.rng.one_in(3);
        self.rng.between(0, if long { 5 * HOUR_MS } else { MINUTE_MS })
    }

    /// Returns how long the daemon waits if nothing happens.
    fn daemon_wait_ms(&self) -> i64 {
        let left = |time: adjutant_model::Time| time.as_millis() - self.clock.now().as_millis() + 1;
        let next = next_wake_time(&self.checker.world, self.clock.now()).map_or(self.poll_ms, left);
        next.clamp(1, self.poll_ms)
    }

    fn check(&mut self) {
        self.checker.catch_up(&self.machine.borrow());
        if let Some(daemon) = &self.daemon {
            let engine = daemon.engine.clone();
            self.check_engine(&engine, "the daemon");
        }
        if let Some(office) = self.command_engine.clone() {
            self.check_engine(&office, "a command");
            if office.is_dead() {
                self.command_engine = None;
            }
        }
    }

    fn check_engine(&mut self, engine: &SimEngine, what: &str) {
        self.checker.catch_up(&self.machine.borrow());
        for (request, answered) in engine.take_answered() {
            self.checker.check_answer(&answered);
            if let Some(Request::Message { origin, .. }) = request.map(|asked| asked.request)
                && let MessageOrigin::RunOutput { task, fence, .. } = origin
                && self.checker.was_replaced(&task, fence, &answered)
            {
                self.checker.check_refused(&answered, "a line of a replaced run");
            }
        }
        engine.with_committed_world(|world| self.checker.compare_world(what, world));
    }

    /// Ends all faults and moves tasks that only a person can move on.
    fn stop_faults(&mut self) {
        self.faults_enabled = false;
        self.health.stop_faults();
        self.messages_in_transit.clear();
        self.machine.borrow_mut().start_odds = 0;
        if let Some(daemon) = &mut self.daemon {
            daemon.power.stop_faults();
            daemon.assign_mode = AssignMode::Assign;
        }
        self.command_engine = None;
        self.daemon_wakes_ms = self.now();
        self.check();
        for request in people::move_stuck_to_ready(&self.checker.world) {
            // A daemon that dies at this moment does not answer, so the sender asks again.
            if self.ask(request.clone()).is_none()
                && let Some(engine) = self.command_engine()
            {
                let _ = engine.ask(vec![request]);
            }
        }
        self.check();
    }

    fn is_at_rest(&self) -> bool {
        let over =
            self.machine.borrow().working_runs().is_empty() && self.messages_in_transit.is_empty();
        over && is_idle(&self.checker.world, self.clock.now())
    }

    fn unfinished_tasks(&self) -> Vec<String> {
        let open = |status| !matches!(status, Status::Done | Status::Cancelled);
        let tasks = self.checker.world.tasks().filter(|task| open(task.status()));
        tasks.map(|task| format!("{} {}", task.id, task.status())).collect()
    }
}

fn random_policy(rng: &mut SeededRng) -> Policy {
    let on_exit = [OnExitOk::NoReport, OnExitOk::NeedsReview, OnExitOk::Done];
    let agents = people::AGENTS.iter().zip(on_exit).map(|(name, on_exit_ok)| {
        let slots = 1 + u32::from(rng.one_in(2));
        let name = AgentId::parse(name).expect("a good name");
        (name, AgentPolicy { slots, on_exit_ok, ..AgentPolicy::default() })
    });
    let agents = agents.collect();
    let ttls = [5 * MINUTE_MS, HOUR_MS, HOUR_MS, 2 * HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS];
    Policy {
        only: None,
        require_token: rng.one_in(3),
        scheduler: SchedulerPolicy {
            concurrency: 1 + u32::try_from(rng.below(4)).unwrap_or(0),
            attempts_max: 1 + u32::try_from(rng.below(4)).unwrap_or(0),
            backoff_ms: MINUTE_MS,
            heartbeat_ttl_ms: *rng.choose(&ttls),
            ..SchedulerPolicy::default()
        },
        agents,
        ..Policy::default()
    }
}
