//! Shows the ten steps of a story in lines that change in place on a terminal.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use adjutant_model::Time;
use adjutant_model::story::{Step, StepStatus, StoryId, StoryPosition};
use adjutant_process::clock::{Clock, SystemClock};

use super::daemon_display::format_duration;
use crate::output::{CommandOutput, TextColour, clean};
use adjutant_query::text::fit;

/// The steps in order. If a story is at a step of the original orchestrator, that step
/// is shown before these.
const STEPS: [Step; 10] = [
    Step::Bdd,
    Step::SddDelta,
    Step::Contract,
    Step::Review,
    Step::Scaffold,
    Step::Impl,
    Step::Verify,
    Step::Commit,
    Step::UpdateMemory,
    Step::Done,
];

pub(crate) struct StepDisplay<'a> {
    out: &'a CommandOutput,
    live: bool,
    head: String,
    began: Instant,
    /// The current step and when it began.
    current_step: (Step, Instant),
    step_times: BTreeMap<Step, Duration>,
    lines_drawn: usize,
}

impl<'a> StepDisplay<'a> {
    pub(crate) fn new(out: &'a CommandOutput, step: Step) -> Self {
        let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let live = std::io::stderr().is_terminal() && able && !out.is_json();
        let now = Instant::now();
        let (step_times, head) = (BTreeMap::new(), String::new());
        Self { out, live, head, began: now, current_step: (step, now), step_times, lines_drawn: 0 }
    }

    /// Sets the heading. The story's first step may give it a title.
    pub(crate) fn set_title(&mut self, story: &StoryId, title: &str) {
        self.head = if title.contains(story.as_str()) {
            clean(title)
        } else {
            format!("{story} {}", clean(title)).trim_end().to_owned()
        };
    }

    /// Says whether lines change in place.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Records the position, to measure how long each step takes.
    pub(crate) fn record_position(&mut self, position: &StoryPosition) {
        let (step, began) = self.current_step;
        if position.step != step {
            self.step_times.insert(step, began.elapsed());
            self.current_step = (position.step, Instant::now());
        }
    }

    /// Redraws the steps. `held` says why the current step cannot start, and is shown below it.
    pub(crate) fn draw(
        &mut self,
        position: &StoryPosition,
        dispatched_at: Option<Time>,
        held: Option<&str>,
    ) {
        if !self.live {
            return;
        }
        let width = self.out.width().unwrap_or(80);
        let mut lines =
            lines(&self.head, self.began.elapsed(), position, dispatched_at, &self.step_times);
        if let (Some(held), Some(at)) =
            (held, lines.iter().position(|(_, line)| is_pending_line(line)))
        {
            lines.insert(at + 1, (TextColour::Yellow, format!("      {held}")));
        }
        let back = match self.lines_drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A\r\x1b[J"),
        };
        // A line that is too long would wrap, and the next redraw would start one line too low.
        let shown: Vec<String> = lines
            .iter()
            .map(|(colour, text)| self.out.paint(*colour, &fit(text, width)) + "\n")
            .collect();
        self.lines_drawn = shown.len();
        let _ = std::io::stderr().write_all((back + &shown.concat()).as_bytes());
    }

    /// Keeps the last drawn lines on the screen.
    pub(crate) fn keep_lines(&mut self) {
        self.lines_drawn = 0;
    }
}

fn lines(
    head: &str,
    elapsed: Duration,
    position: &StoryPosition,
    dispatched_at: Option<Time>,
    took: &BTreeMap<Step, Duration>,
) -> Vec<(TextColour, String)> {
    let mut lines = vec![(TextColour::Plain, format!("{head}  {}", format_duration(elapsed)))];
    let present = STEPS.iter().position(|step| *step == position.step);
    if present.is_none() {
        lines.push(current_line(position, dispatched_at));
    }
    for (place, step) in STEPS.into_iter().enumerate() {
        let is_over = present.is_some_and(|present| place < present) || position.step == Step::Done;
        lines.push(if is_over {
            let time = took.get(&step).map_or_else(String::new, |time| format_duration(*time));
            (TextColour::Green, format!("  ✓ {:<14} {time}", step.as_str()).trim_end().to_owned())
        } else if Some(place) == present {
            current_line(position, dispatched_at)
        } else {
            (TextColour::Dim, format!("  · {}", step.as_str()))
        });
        if Some(place) == present && position.step != Step::Done {
            lines.extend(error_line(position));
        }
    }
    lines
}

/// Says whether a line is that of a step that has not started.
fn is_pending_line(line: &str) -> bool {
    line.starts_with("  ○ ")
}

fn current_line(position: &StoryPosition, dispatched_at: Option<Time>) -> (TextColour, String) {
    let step = position.step.as_str();
    let of = format!("attempt {} of {}", position.attempt, position.max_attempts);
    // The story's files may be ahead of the event log; then the start time is unknown.
    let running = || {
        dispatched_at.map_or_else(String::new, |since| {
            let millis = SystemClock.now().as_millis().saturating_sub(since.as_millis());
            format!(
                "  {}",
                format_duration(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
            )
        })
    };
    match position.status {
        StepStatus::Running => (TextColour::Blue, format!("  ● {step:<14} {of}{}", running())),
        StepStatus::Pass => (TextColour::Green, format!("  ✓ {step:<14} {of}")),
        StepStatus::Failing => (TextColour::Red, format!("  ✗ {step:<14} {of}  failed")),
        StepStatus::Timeout => (TextColour::Red, format!("  ✗ {step:<14} {of}  timed out")),
        StepStatus::NeedsHuman => {
            let why = position.hold.map_or("needs a person", |hold| hold.meaning());
            (TextColour::Yellow, format!("  ? {step:<14} {why}"))
        }
        StepStatus::Pending => match &position.waits_for[..] {
            [] => (TextColour::Plain, format!("  ○ {step:<14} {of}  next")),
            stories => {
                let names: Vec<&str> = stories.iter().map(StoryId::as_str).collect();
                (TextColour::Yellow, format!("  ○ {step:<14} waits for {}", names.join(", ")))
            }
        },
    }
}

/// Returns the first line of the last error.
fn error_line(position: &StoryPosition) -> Option<(TextColour, String)> {
    let first = position.error.as_deref()?.lines().next().unwrap_or_default();
    Some((TextColour::Dim, format!("      {}", clean(first))))
}

#[cfg(test)]
mod tests {
    use adjutant_model::story::StoryHold;

    use super::*;

    fn at(step: Step, status: StepStatus) -> StoryPosition {
        StoryPosition {
            story: StoryId::parse("US-005").expect("a name"),
            step,
            attempt: 2,
            max_attempts: 5,
            status,
            reason: None,
            hold: None,
            auto: true,
            unaccepted: false,
            waits_for: vec![],
            fence: None,
            error: None,
            said: None,
            node: None,
        }
    }

    fn shown(position: &StoryPosition) -> Vec<String> {
        let took = BTreeMap::from([(Step::Bdd, Duration::from_secs(42))]);
        let lines = lines("US-005 Cart", Duration::from_secs(192), position, None, &took);
        lines.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn story_steps_show_past_current_and_future() {
        let mut position = at(Step::Contract, StepStatus::Pending);
        position.error = Some("two tests fail\nand more".into());
        assert_eq!(
            shown(&position),
            [
                "US-005 Cart  3m12s",
                "  ✓ bdd            42s",
                "  ✓ sdd-delta",
                "  ○ contract       attempt 2 of 5  next",
                "      two tests fail",
                "  · review",
                "  · scaffold",
                "  · impl",
                "  · verify",
                "  · commit",
                "  · update-memory",
                "  · done",
            ]
        );
    }

    #[test]
    fn story_step_shows_a_symbol_for_each_status() {
        let line = |position: &StoryPosition| shown(position)[4].clone();
        let mut review = at(Step::Review, StepStatus::NeedsHuman);
        review.hold = Some(StoryHold::Review);
        assert_eq!(line(&review), "  ? review         waits for a person");
        assert_eq!(
            line(&at(Step::Review, StepStatus::Failing)),
            "  ✗ review         attempt 2 of 5  failed"
        );
        assert_eq!(
            line(&at(Step::Review, StepStatus::Timeout)),
            "  ✗ review         attempt 2 of 5  timed out"
        );
        assert_eq!(
            line(&at(Step::Review, StepStatus::Running)),
            "  ● review         attempt 2 of 5",
            "the start time is not known"
        );
        let mut waits = at(Step::Review, StepStatus::Pending);
        waits.waits_for = vec![StoryId::parse("US-003").expect("a name")];
        assert_eq!(line(&waits), "  ○ review         waits for US-003");
        let done = shown(&at(Step::Done, StepStatus::Pass));
        assert!(done[1..].iter().all(|line| line.starts_with("  ✓ ")), "{done:?}");
        assert_eq!(shown(&at(Step::Bootstrap, StepStatus::Pending)).len(), 12);
    }
}
