//! The ten steps of a story, as a person sees them: lines that change in place on a terminal.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use adjutant_core::Time;
use adjutant_core::pipeline::{Position, Status, Step, StoryId};
use adjutant_runtime::{Clock, SystemClock};

use super::glance::span;
use crate::output::{Colour, Output, clean};
use crate::table::fit;

/// The steps in their order; those of the original orchestrator come first where a story has them.
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

/// Shows the steps of a story.
pub(crate) struct Steps<'a> {
    out: &'a Output,
    live: bool,
    head: String,
    began: Instant,
    /// When the present step began, and how long those before took.
    since: (Step, Instant),
    took: BTreeMap<Step, Duration>,
    drawn: usize,
}

impl<'a> Steps<'a> {
    /// Begins with the step that is the present one.
    pub(crate) fn new(out: &'a Output, step: Step) -> Self {
        let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let live = std::io::stderr().is_terminal() && able && !out.is_json();
        let now = Instant::now();
        let (took, head) = (BTreeMap::new(), String::new());
        Self { out, live, head, began: now, since: (step, now), took, drawn: 0 }
    }

    /// Says what the story is called: its first step may give it a title.
    pub(crate) fn call(&mut self, story: &StoryId, title: &str) {
        self.head = if title.contains(story.as_str()) {
            clean(title)
        } else {
            format!("{story} {}", clean(title)).trim_end().to_owned()
        };
    }

    /// Says whether it changes in place.
    pub(crate) fn is_live(&self) -> bool {
        self.live
    }

    /// Takes note of where the story came, to tell how long a step took.
    pub(crate) fn note(&mut self, position: &Position) {
        let (step, began) = self.since;
        if position.step != step {
            self.took.insert(step, began.elapsed());
            self.since = (position.step, Instant::now());
        }
    }

    /// Draws the steps anew, over what was drawn before.
    /// What keeps the present step from being begun is said below it.
    pub(crate) fn draw(
        &mut self,
        position: &Position,
        dispatched_at: Option<Time>,
        held: Option<&str>,
    ) {
        if !self.live {
            return;
        }
        let width = self.out.width().unwrap_or(80);
        let mut lines =
            lines(&self.head, self.began.elapsed(), position, dispatched_at, &self.took);
        if let (Some(held), Some(at)) = (held, lines.iter().position(|(_, line)| is_next(line))) {
            lines.insert(at + 1, (Colour::Yellow, format!("      {held}")));
        }
        let back = match self.drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A\r\x1b[J"),
        };
        // A line that is too long would take two, and the next drawing would begin a line too low.
        let shown: Vec<String> = lines
            .iter()
            .map(|(colour, text)| self.out.paint(*colour, &fit(text, width)) + "\n")
            .collect();
        self.drawn = shown.len();
        let _ = std::io::stderr().write_all((back + &shown.concat()).as_bytes());
    }

    /// Leaves the last lines as they are.
    pub(crate) fn end(&mut self) {
        self.drawn = 0;
    }
}

/// Returns the lines of a display, each with its colour.
fn lines(
    head: &str,
    elapsed: Duration,
    position: &Position,
    dispatched_at: Option<Time>,
    took: &BTreeMap<Step, Duration>,
) -> Vec<(Colour, String)> {
    let mut lines = vec![(Colour::Plain, format!("{head}  {}", span(elapsed)))];
    let present = STEPS.iter().position(|step| *step == position.step);
    if present.is_none() {
        lines.push(current(position, dispatched_at));
    }
    for (place, step) in STEPS.into_iter().enumerate() {
        let is_over = present.is_some_and(|present| place < present) || position.step == Step::Done;
        lines.push(if is_over {
            let time = took.get(&step).map_or_else(String::new, |time| span(*time));
            (Colour::Green, format!("  ✓ {:<14} {time}", step.as_str()).trim_end().to_owned())
        } else if Some(place) == present {
            current(position, dispatched_at)
        } else {
            (Colour::Dim, format!("  · {}", step.as_str()))
        });
        if Some(place) == present && position.step != Step::Done {
            lines.extend(trouble(position));
        }
    }
    lines
}

/// Says whether a line is that of a step which is to be begun.
fn is_next(line: &str) -> bool {
    line.starts_with("  ○ ")
}

/// Returns the line of the present step.
fn current(position: &Position, dispatched_at: Option<Time>) -> (Colour, String) {
    let step = position.step.as_str();
    let of = format!("attempt {} of {}", position.attempt, position.max_attempts);
    // The files may be further than the record: then nobody knows any more when it was begun.
    let running = || {
        dispatched_at.map_or_else(String::new, |since| {
            let millis = SystemClock.now().as_millis().saturating_sub(since.as_millis());
            format!("  {}", span(Duration::from_millis(u64::try_from(millis).unwrap_or(0))))
        })
    };
    match position.status {
        Status::Running => (Colour::Blue, format!("  ● {step:<14} {of}{}", running())),
        Status::Pass => (Colour::Green, format!("  ✓ {step:<14} {of}")),
        Status::Failing => (Colour::Red, format!("  ✗ {step:<14} {of}  failed")),
        Status::Timeout => (Colour::Red, format!("  ✗ {step:<14} {of}  took too long")),
        Status::NeedsHuman => {
            let why = position.hold.map_or("asks for a person", |hold| hold.meaning());
            (Colour::Yellow, format!("  ? {step:<14} {why}"))
        }
        Status::Pending => match &position.waits_for[..] {
            [] => (Colour::Plain, format!("  ○ {step:<14} {of}  is next")),
            stories => {
                let names: Vec<&str> = stories.iter().map(StoryId::as_str).collect();
                (Colour::Yellow, format!("  ○ {step:<14} waits for {}", names.join(", ")))
            }
        },
    }
}

/// Returns what went wrong last, in one line.
fn trouble(position: &Position) -> Option<(Colour, String)> {
    let first = position.error.as_deref()?.lines().next().unwrap_or_default();
    Some((Colour::Dim, format!("      {}", clean(first))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjutant_core::pipeline::Hold;

    fn at(step: Step, status: Status) -> Position {
        Position {
            story: StoryId::parse("US-005").expect("a name"),
            step,
            attempt: 2,
            max_attempts: 5,
            status,
            reason: None,
            hold: None,
            auto: true,
            waits_for: vec![],
            fence: None,
            error: None,
            node: None,
        }
    }

    fn shown(position: &Position) -> Vec<String> {
        let took = BTreeMap::from([(Step::Bdd, Duration::from_secs(42))]);
        let lines = lines("US-005 Cart", Duration::from_secs(192), position, None, &took);
        lines.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn what_is_over_what_is_at_work_and_what_is_to_come() {
        let mut position = at(Step::Contract, Status::Pending);
        position.error = Some("two tests fail\nand more".into());
        assert_eq!(
            shown(&position),
            [
                "US-005 Cart  3m12s",
                "  ✓ bdd            42s",
                "  ✓ sdd-delta",
                "  ○ contract       attempt 2 of 5  is next",
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
    fn each_way_a_step_stands_has_a_sign_of_its_own() {
        let line = |position: &Position| shown(position)[4].clone();
        let mut review = at(Step::Review, Status::NeedsHuman);
        review.hold = Some(Hold::Review);
        assert_eq!(line(&review), "  ? review         waits for a person");
        assert_eq!(
            line(&at(Step::Review, Status::Failing)),
            "  ✗ review         attempt 2 of 5  failed"
        );
        assert_eq!(
            line(&at(Step::Review, Status::Timeout)),
            "  ✗ review         attempt 2 of 5  took too long"
        );
        assert_eq!(
            line(&at(Step::Review, Status::Running)),
            "  ● review         attempt 2 of 5",
            "when it was begun is not known"
        );
        let mut waits = at(Step::Review, Status::Pending);
        waits.waits_for = vec![StoryId::parse("US-003").expect("a name")];
        assert_eq!(line(&waits), "  ○ review         waits for US-003");
        let done = shown(&at(Step::Done, Status::Pass));
        assert!(done[1..].iter().all(|line| line.starts_with("  ✓ ")), "{done:?}");
        assert_eq!(shown(&at(Step::Bootstrap, Status::Pending)).len(), 12);
    }
}
