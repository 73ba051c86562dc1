//! A child process that pauses at a step on disk until it is resumed.

use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// A paused child; dropping this value kills it.
pub struct PausedChild(Child);

impl PausedChild {
    /// Starts a child and waits until it pauses for the first time; `None` if it exited before.
    pub fn start_and_pause(points: &[u32], command: &mut Command) -> Option<Self> {
        let points: Vec<String> = points.iter().map(u32::to_string).collect();
        command.env("ADJUTANT_PAUSE_AT", points.join(",")).stdout(Stdio::null());
        Self(command.spawn().expect("the child starts")).wait_until_paused()
    }

    /// Resumes it until it pauses again; `None` if it exited before.
    pub fn resume_to_next_pause(self) -> Option<Self> {
        self.send_continue();
        self.wait_until_paused()
    }

    /// Resumes it and returns its exit status.
    pub fn resume(mut self) -> ExitStatus {
        self.send_continue();
        self.0.wait().expect("it ends")
    }

    fn wait_until_paused(self) -> Option<Self> {
        let (_, status) = waitpid(Some(Pid::from_child(&self.0)), WaitOptions::UNTRACED)
            .expect("a child can be waited for")
            .expect("it has come to something");
        assert!(status.stopped() || status.exit_status() == Some(0), "{status:?}");
        status.stopped().then_some(self)
    }

    fn send_continue(&self) {
        kill_process(Pid::from_child(&self.0), Signal::CONT).expect("it goes on");
    }
}

impl Drop for PausedChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
