//! `adjutant top`: the board in a terminal.

mod deed;
mod draw;
mod feed;
mod state;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use self::feed::Feed;
use self::state::{Press, State};
use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Show the board in the terminal: what runs, what waits for you and why, and lets you answer
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Keys: tab and 1 to 4 other lists, j and k up and down, enter the output, a \
                        approve, r reject, t answer, y try again, / search, ? all keys, q leave."
)]
pub(crate) struct Top {}

/// How long to wait for a key before looking for news.
const LOOK: Duration = Duration::from_millis(500);

impl Top {
    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        if out.is_json() || !out.is_terminal() {
            return Err(Failure::usage("top needs a terminal")
                .hint("`adjutant status --json` and `adjutant inbox --json` are for programs"));
        }
        // What people did to the files is taken in first, as every command does.
        data.world(out)?;
        let feed = Feed::open(data)?;
        let mut terminal = ratatui::init();
        let left = watch(&mut terminal, data, feed);
        ratatui::restore();
        left.map(|()| ExitCode::SUCCESS)
    }
}

/// Shows how things stand, and does what the person asks for, until they leave.
fn watch(terminal: &mut DefaultTerminal, data: &Data, mut feed: Feed<'_>) -> Result<(), Failure> {
    let mut state = State::new(feed.picture());
    let mut looked = Instant::now();
    loop {
        state.output = state.chosen().and_then(|row| feed.output(&row.id));
        terminal.draw(|frame| draw::draw(frame, &state)).map_err(broken)?;
        if event::poll(LOOK.saturating_sub(looked.elapsed())).map_err(broken)? {
            match event::read().map_err(broken)? {
                Event::Key(key) if key.kind == KeyEventKind::Press => match state.press(key) {
                    Press::Nothing => {}
                    Press::Leave => return Ok(()),
                    Press::Do(deed) => state.said = Some(deed.done(data)),
                },
                _ => {}
            }
        }
        if looked.elapsed() >= LOOK || state.said.is_some() {
            looked = Instant::now();
            if feed.look()? {
                state.show(feed.picture());
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn broken(error: std::io::Error) -> Failure {
    Failure::broken("cannot use the terminal", &error)
}
