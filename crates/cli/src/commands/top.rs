//! `adjutant top`: the board in a terminal.

mod action;
mod draw;
mod screen_state;
mod world_follower;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use self::screen_state::{ActionResult, KeyOutcome, ScreenState};
use self::world_follower::WorldFollower;
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Show the board in the terminal: the inbox, running and waiting tasks, and their output
#[derive(Debug, clap::Args)]
#[command(after_help = "Keys: Tab or 1-4 switch lists, j/k move, Enter shows the output, d the \
                  changes, a approves (asks before it merges), r rejects, t answers, y retries, / \
                  searches, ? lists all keys, q quits.\n\n\
                  Examples:\n  adjutant top")]
pub(crate) struct TopArgs {}

/// How long to wait for a key before reading new commits.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);

impl TopArgs {
    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        if out.is_json() || !out.is_terminal() {
            return Err(CommandFailure::report_usage_error("`adjutant top` needs a terminal")
                .with_hint(
                    "in a script, use `adjutant status --json` and `adjutant inbox --json`",
                ));
        }
        // Apply people's file edits first, as every command does.
        data.load_world(out)?;
        let feed = WorldFollower::open(data)?;
        let mut terminal = ratatui::init();
        let left = run_screen(&mut terminal, data, feed);
        ratatui::restore();
        left.map(|()| ExitCode::SUCCESS)
    }
}

/// Redraws the screen and handles keys until the user leaves.
fn run_screen(
    terminal: &mut DefaultTerminal,
    data: &ProjectData,
    mut feed: WorldFollower,
) -> Result<(), CommandFailure> {
    let mut state = ScreenState::new(feed.snapshot());
    let mut looked = Instant::now();
    loop {
        state.output = state.selected_row().and_then(|row| feed.output(row.id.as_ref()?));
        terminal.draw(|frame| draw::draw(frame, &state)).map_err(terminal_failure)?;
        if event::poll(REFRESH_INTERVAL.saturating_sub(looked.elapsed()))
            .map_err(terminal_failure)?
        {
            match event::read().map_err(terminal_failure)? {
                Event::Key(key) if key.kind == KeyEventKind::Press => match state.handle_key(key) {
                    KeyOutcome::Handled => {}
                    KeyOutcome::Quit => return Ok(()),
                    KeyOutcome::Perform(action) => {
                        let (result, merge) = action.perform(data);
                        (state.last_result, state.merge) = (Some(result), merge);
                    }
                    KeyOutcome::ShowDiff(id) => match feed.diff(&id) {
                        Ok(diff) if diff.is_empty() => {
                            state.last_result = Some(ActionResult {
                                succeeded: false,
                                text: format!("{id} has no changes"),
                            });
                        }
                        Ok(diff) => state.show_diff(diff),
                        Err(text) => {
                            state.last_result = Some(ActionResult { succeeded: false, text });
                        }
                    },
                },
                _ => {}
            }
        }
        if looked.elapsed() >= REFRESH_INTERVAL || state.last_result.is_some() {
            looked = Instant::now();
            if feed.catch_up()? {
                state.replace_snapshot(feed.snapshot());
            }
            let outcome = state.merge.as_ref().and_then(|merge| feed.merge_outcome(merge));
            if let Some((text, succeeded)) = outcome {
                state.last_result = Some(ActionResult { succeeded, text });
                state.merge = None;
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn terminal_failure(error: std::io::Error) -> CommandFailure {
    CommandFailure::broken("cannot use the terminal", &error)
}
