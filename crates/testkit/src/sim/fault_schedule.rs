//! Faults other than the disk's: killed processes, clock jumps, sleep.

use super::process::SimProcess;
use super::{HOUR_MS, MINUTE_MS, ProjectSimulation};

impl ProjectSimulation {
    /// Makes one random fault happen.
    pub(super) fn inject_fault(&mut self) {
        self.next_fault_ms = self.now() + self.rng.between(0, 2 * HOUR_MS);
        let what = match self.rng.below(12) {
            0..=2 => self.kill_random_process("an agent is killed", SimProcess::kill_agent),
            3 => self.kill_random_process("a shim is killed", SimProcess::kill_shim),
            4 => self.reboot(),
            5 => self.jump_clock("the clock jumps ahead", HOUR_MS),
            6 => self.jump_clock("the clock jumps back", -HOUR_MS),
            7 | 8 => {
                let slept = self.rng.between(MINUTE_MS, 10 * HOUR_MS);
                self.report.hours += u64::try_from(slept / HOUR_MS).unwrap_or(0);
                self.jump_clock("the machine sleeps", slept)
            }
            9 => self.fill_disk(),
            10 => self.kill_daemon(),
            _ => self.tell_daemon_to_exit(),
        };
        self.count_event(what);
    }

    fn kill_random_process(
        &mut self,
        what: &'static str,
        kill: fn(&mut SimProcess),
    ) -> &'static str {
        let mut machine = self.machine.borrow_mut();
        let working = machine.working_runs();
        if working.is_empty() {
            return "there is no process to kill";
        }
        let key = self.rng.choose(&working);
        machine.processes.get_mut(key).into_iter().for_each(kill);
        what
    }

    fn reboot(&mut self) -> &'static str {
        self.machine.borrow_mut().processes.values_mut().for_each(SimProcess::kill_all);
        self.kill_daemon();
        "the machine goes down"
    }

    fn jump_clock(&mut self, what: &'static str, by: i64) -> &'static str {
        self.clock.advance_ms(by);
        what
    }

    fn fill_disk(&mut self) -> &'static str {
        self.health.set_full(true);
        self.full_until_ms = self.now() + self.rng.between(0, 90 * MINUTE_MS);
        "the disk is full"
    }

    fn kill_daemon(&mut self) -> &'static str {
        if let Some(daemon) = &self.daemon {
            daemon.power.switch_off();
        }
        "the daemon is killed"
    }

    fn tell_daemon_to_exit(&mut self) -> &'static str {
        if let Some(daemon) = &mut self.daemon {
            daemon.start_exit(&mut self.rng);
        }
        "the daemon is told to leave"
    }
}
