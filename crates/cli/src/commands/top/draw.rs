//! Draws what is shown.

use std::time::Duration;

use adjutant_core::Status;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Clear, List, ListItem, ListState, Paragraph, Wrap};

use super::state::{Asking, LISTS, Row, State};
use crate::view::glance::span;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

const KEYS: [(&str, &str); 11] = [
    ("j k ↓ ↑", "next, previous"),
    ("tab 1-4", "another list"),
    ("enter l", "the output in all the room, and back"),
    ("a", "approve"),
    ("r", "reject, with a reason"),
    ("t", "answer"),
    ("y", "try again"),
    ("/", "search"),
    ("esc", "back"),
    ("?", "these keys"),
    ("q", "leave"),
];

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ]);
    let [head, tabs, middle, foot] = rows.areas(frame.area());
    frame.render_widget(heading(state), head);
    frame.render_widget(lists(state), tabs);
    if state.wide {
        output(frame, state, middle);
    } else {
        halves(frame, state, middle);
    }
    frame.render_widget(footer(state), foot);
    if state.help {
        help(frame);
    }
}

fn heading(state: &State) -> Line<'_> {
    let picture = &state.picture;
    let daemon = if picture.up {
        Span::styled("up", Color::Green)
    } else {
        Span::styled("no daemon: `adjutant up` starts one", Color::Yellow)
    };
    Line::from(vec![
        Span::styled("Adjutant", BOLD),
        Span::raw(format!(" {}  ", picture.project)),
        daemon,
        Span::styled(format!("  {}", picture.glance), DIM),
    ])
}

fn lists(state: &State) -> Line<'_> {
    let mut spans = Vec::new();
    for (place, name) in LISTS.iter().enumerate() {
        let count = state.picture.lists[place].len();
        let style =
            if place == state.list { Style::new().add_modifier(Modifier::REVERSED) } else { DIM };
        spans.push(Span::styled(format!(" {} {name} {count} ", place + 1), style));
        spans.push(Span::raw(" "));
    }
    if !state.search.is_empty() {
        spans.push(Span::styled(format!("/{}", state.search), Color::Cyan));
    }
    Line::from(spans)
}

/// The list beside what there is to say about the chosen one; below it where there is little room.
fn halves(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let halves = [Constraint::Percentage(45), Constraint::Percentage(55)];
    let layout =
        if area.width >= 90 { Layout::horizontal(halves) } else { Layout::vertical(halves) };
    let [left, right] = layout.areas(area);
    list(frame, state, left);
    chosen(frame, state, right);
}

fn list(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let rows = state.rows();
    if rows.is_empty() {
        let text = if state.list == 0 { "Nothing waits for you." } else { "Nothing here." };
        frame.render_widget(Paragraph::new(Span::styled(text, DIM)).block(framed("")), area);
        return;
    }
    let items: Vec<ListItem<'_>> = rows.iter().map(|row| ListItem::new(line(row))).collect();
    let list = List::new(items).block(framed("")).highlight_style(Modifier::REVERSED);
    let mut at = ListState::default().with_selected(Some(state.place));
    frame.render_stateful_widget(list, area, &mut at);
}

fn line(row: &Row) -> Line<'_> {
    let since = row.since.map_or_else(String::new, |millis| {
        span(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    });
    Line::from(vec![
        Span::styled(format!("{:<11} ", row.kind.replace('_', " ")), colour(row.status)),
        Span::styled(format!("{since:>7} "), DIM),
        Span::raw(row.title.as_str()),
    ])
}

fn chosen(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let Some(row) = state.chosen() else {
        frame.render_widget(framed(""), area);
        return;
    };
    let mut lines = vec![Line::styled(row.title.as_str(), BOLD), Line::default()];
    lines.extend(row.notes.iter().map(|note| Line::raw(note.as_str())));
    lines
        .extend(row.actions.iter().map(|action| Line::styled(format!("  adjutant {action}"), DIM)));
    let needed = height(&lines, area.width.saturating_sub(2));
    let about = Paragraph::new(Text::from(lines)).wrap(Wrap { trim: false });
    let room = Layout::vertical([Constraint::Max(needed.saturating_add(2)), Constraint::Min(0)]);
    let [above, below] = room.areas(area);
    frame.render_widget(about.block(framed(row.id.as_str())), above);
    output(frame, state, below);
}

/// Returns how high lines are at most when they are broken at words: no word that goes to the next
/// line leaves more than half of its own empty, but for those that are longer than that.
fn height(lines: &[Line<'_>], width: u16) -> u16 {
    let width = usize::from(width.max(1));
    let broken = |line: &Line<'_>| match line.width() {
        fits if fits <= width => 1,
        long => long.div_ceil(width) + 1,
    };
    u16::try_from(lines.iter().map(broken).sum::<usize>()).unwrap_or(u16::MAX)
}

/// Shows the end of what the chosen task's run printed.
fn output(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let Some(text) = &state.output else {
        frame.render_widget(framed("no output"), area);
        return;
    };
    let room = usize::from(area.height.saturating_sub(2));
    let lines: Vec<&str> = text.lines().collect();
    let end = lines[lines.len().saturating_sub(room)..].join("\n");
    frame.render_widget(Paragraph::new(end).block(framed("output")), area);
}

fn footer(state: &State) -> Line<'_> {
    if let Some((asking, text)) = &state.asking {
        let what = match asking {
            Asking::Search => "search",
            Asking::Reason => "what must change",
            Asking::Answer => "your answer",
        };
        return Line::from(vec![
            Span::styled(format!("{what}: "), BOLD),
            Span::raw(text.as_str()),
            Span::raw("▏"),
        ]);
    }
    match &state.said {
        Some(said) if said.done => Line::styled(said.text.as_str(), Color::Green),
        Some(said) => Line::styled(said.text.as_str(), Color::Red),
        None => Line::styled(
            "a approve  r reject  t answer  y again  enter output  / search  ? keys  q leave",
            DIM,
        ),
    }
}

fn help(frame: &mut Frame<'_>) {
    let area = frame.area();
    let (width, height) = (52.min(area.width), 13.min(area.height));
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    let room = Rect { x: area.x + x, y: area.y + y, width, height };
    let lines: Vec<Line<'_>> = KEYS
        .iter()
        .map(|(key, what)| {
            Line::from(vec![Span::styled(format!(" {key:<10}"), BOLD), Span::raw(*what)])
        })
        .collect();
    frame.render_widget(Clear, room);
    frame.render_widget(Paragraph::new(lines).block(framed("keys")), room);
}

fn framed(title: &str) -> Block<'_> {
    Block::new().borders(Borders::ALL).border_style(DIM).title(title)
}

fn colour(status: Status) -> Color {
    match status {
        Status::Backlog | Status::Cancelled => Color::DarkGray,
        Status::Ready => Color::Reset,
        Status::InProgress => Color::Blue,
        Status::Review => Color::Yellow,
        Status::Done => Color::Green,
        Status::Blocked | Status::Deadletter => Color::Red,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::state::tests::state;
    use super::*;

    fn shown(state: &State, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| draw(frame, state)).expect("it can be drawn");
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn a_wide_terminal_has_the_list_beside_the_chosen_task() {
        let mut state = state();
        state.output = Some("one\ntwo".to_owned());
        let expected = "\
Adjutant importer  up  1 in progress, at most 4 at once
 1 Inbox 2   2 In progress 1   3 Ready 0   4 Others 0
┌──────────────────────────────────────────┐┌TASK-2026-11-16-003─────────────────────────────────┐
│review        2m05s Refuse odd names      ││Refuse odd names                                    │
│question      2m05s Choose a licence      ││                                                    │
│                                          ││Refuse odd names: what there is to say.             │
│                                          │└────────────────────────────────────────────────────┘
│                                          │┌output──────────────────────────────────────────────┐
│                                          ││one                                                 │
│                                          ││two                                                 │
└──────────────────────────────────────────┘└────────────────────────────────────────────────────┘
a approve  r reject  t answer  y again  enter output  / search  ? keys  q leave
";
        assert_eq!(shown(&state, 98, 12), expected);
    }

    #[test]
    fn no_size_of_a_terminal_is_too_small_to_draw() {
        let mut state = state();
        state.output = Some("x".repeat(300));
        for help in [false, true] {
            state.help = help;
            for width in (1..100).step_by(7) {
                for height in [1, 2, 3, 5, 8, 15] {
                    shown(&state, width, height);
                }
            }
        }
    }
}
