//! What goes wrong in a night besides the disk: killed processes, clocks that jump, sleep.

use super::process::Process;
use super::{HOUR_MS, MINUTE_MS, Night};

impl Night {
    /// Something goes wrong.
    pub(super) fn weather(&mut self) {
        self.weather_ms = self.now() + self.dice.between(0, 2 * HOUR_MS);
        let what = match self.dice.below(12) {
            0..=2 => self.kill_one("an agent is killed", Process::kill_agent),
            3 => self.kill_one("a shim is killed", Process::kill_shim),
            4 => self.reboot(),
            5 => self.jump("the clock jumps ahead", HOUR_MS),
            6 => self.jump("the clock jumps back", -HOUR_MS),
            7 | 8 => {
                let slept = self.dice.between(MINUTE_MS, 10 * HOUR_MS);
                self.tale.hours += u64::try_from(slept / HOUR_MS).unwrap_or(0);
                self.jump("the machine sleeps", slept)
            }
            9 => self.fill_disk(),
            10 => self.kill_daemon(),
            _ => self.leave(),
        };
        self.saw(what);
    }

    fn kill_one(&mut self, what: &'static str, kill: fn(&mut Process)) -> &'static str {
        let mut machine = self.machine.borrow_mut();
        let working = machine.working();
        if working.is_empty() {
            return "nobody is there to be killed";
        }
        let key = self.dice.one_of(&working);
        machine.processes.get_mut(key).into_iter().for_each(kill);
        what
    }

    fn reboot(&mut self) -> &'static str {
        self.machine.borrow_mut().processes.values_mut().for_each(Process::kill_all);
        self.kill_daemon();
        "the machine goes down"
    }

    fn jump(&mut self, what: &'static str, by: i64) -> &'static str {
        self.clock.advance_ms(by);
        what
    }

    fn fill_disk(&mut self) -> &'static str {
        self.health.set_full(true);
        self.full_until_ms = self.now() + self.dice.between(0, 90 * MINUTE_MS);
        "the disk is full"
    }

    fn kill_daemon(&mut self) -> &'static str {
        if let Some(daemon) = &self.daemon {
            daemon.plug.pull();
        }
        "the daemon is killed"
    }

    fn leave(&mut self) -> &'static str {
        if let Some(daemon) = &mut self.daemon {
            daemon.leave(&mut self.dice);
        }
        "the daemon is told to leave"
    }
}
