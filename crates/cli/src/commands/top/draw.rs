//! Draws the screen of `adjutant top`.

use std::time::Duration;

use adjutant_model::{Status, TaskId};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Borders, Clear, List, ListItem, ListState, Paragraph, Wrap};

use super::screen_state::{BoardRow, InputPurpose, LISTS, ScreenState};
use crate::view::daemon_display::format_duration;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

const KEYS: [(&str, &str); 13] = [
    ("j k ↓ ↑", "next or previous task"),
    ("tab 1-4", "switch lists"),
    ("enter l", "enlarge or shrink the output"),
    ("d", "show the changes"),
    ("j k pgup g G", "scroll the output or the changes"),
    ("a", "approve; asks before it merges"),
    ("r", "reject, with a reason"),
    ("t", "answer"),
    ("y", "retry"),
    ("/", "search"),
    ("esc", "go back"),
    ("?", "show this help"),
    ("q", "quit"),
];

pub(super) fn draw(frame: &mut Frame<'_>, state: &ScreenState) {
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ]);
    let [head, tabs, middle, foot] = rows.areas(frame.area());
    frame.render_widget(heading(state), head);
    frame.render_widget(lists(state), tabs);
    if let Some(diff) = &state.diff {
        draw_diff(frame, diff, state.scroll, middle);
    } else if state.output_expanded {
        draw_output(frame, state, middle);
    } else {
        draw_list_and_details(frame, state, middle);
    }
    frame.render_widget(footer(state), foot);
    if state.help_shown {
        draw_help(frame);
    }
}

fn heading(state: &ScreenState) -> Line<'_> {
    let picture = &state.snapshot;
    let daemon = if picture.daemon_running {
        Span::styled("daemon running", Color::Green)
    } else {
        Span::styled("daemon not running: start it with `adjutant up`", Color::Yellow)
    };
    Line::from(vec![
        Span::styled("Adjutant", BOLD),
        Span::raw(format!(" {}  ", picture.project)),
        daemon,
        Span::styled(format!("  {}", picture.run_summary), DIM),
    ])
}

fn lists(state: &ScreenState) -> Line<'_> {
    let mut spans = Vec::new();
    for (place, name) in LISTS.iter().enumerate() {
        let count = state.snapshot.lists[place].len();
        let style = if place == state.list_index {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            DIM
        };
        spans.push(Span::styled(format!(" {} {name} {count} ", place + 1), style));
        spans.push(Span::raw(" "));
    }
    if !state.search.is_empty() {
        spans.push(Span::styled(format!("/{}", state.search), Color::Cyan));
    }
    Line::from(spans)
}

/// Draws the list beside the details of the chosen task, or above them on a narrow terminal.
fn draw_list_and_details(frame: &mut Frame<'_>, state: &ScreenState, area: Rect) {
    let layout = if area.width >= 90 {
        Layout::horizontal([Constraint::Percentage(45), Constraint::Percentage(55)])
    } else {
        // The list takes no more than it needs, so that there is room for the output.
        let rows = u16::try_from(state.rows().len()).unwrap_or(u16::MAX).saturating_add(2);
        Layout::vertical([
            Constraint::Length(rows.clamp(3, (area.height / 3).max(3))),
            Constraint::Min(0),
        ])
    };
    let [left, right] = layout.areas(area);
    draw_list(frame, state, left);
    draw_details(frame, state, right);
}

fn draw_list(frame: &mut Frame<'_>, state: &ScreenState, area: Rect) {
    let rows = state.rows();
    if rows.is_empty() {
        let text = if state.list_index == 0 { "The inbox is empty." } else { "No tasks." };
        frame
            .render_widget(Paragraph::new(Span::styled(text, DIM)).block(bordered_block("")), area);
        return;
    }
    let items: Vec<ListItem<'_>> = rows.iter().map(|row| ListItem::new(list_line(row))).collect();
    let list = List::new(items).block(bordered_block("")).highlight_style(Modifier::REVERSED);
    let mut at = ListState::default().with_selected(Some(state.row_index));
    frame.render_stateful_widget(list, area, &mut at);
}

fn list_line(row: &BoardRow) -> Line<'_> {
    let since = row.age_ms.map_or_else(String::new, |millis| {
        format_duration(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    });
    Line::from(vec![
        Span::styled(format!("{:<11} ", row.kind.replace('_', " ")), colour(row.status)),
        Span::styled(format!("{since:>7} "), DIM),
        Span::raw(row.title.as_str()),
    ])
}

fn draw_details(frame: &mut Frame<'_>, state: &ScreenState, area: Rect) {
    let Some(row) = state.selected_row() else {
        frame.render_widget(bordered_block(""), area);
        return;
    };
    let mut lines = vec![Line::styled(row.title.as_str(), BOLD), Line::default()];
    lines.extend(row.notes.iter().map(|note| Line::raw(note.as_str())));
    lines.extend(
        row.actions
            .iter()
            .map(|action| Line::styled(format!("  adjutant {}", action.command), DIM)),
    );
    let needed = wrapped_height_max(&lines, area.width.saturating_sub(2));
    let about = Paragraph::new(Text::from(lines)).wrap(Wrap { trim: false });
    // A long description leaves the output what it needs, up to half of the room.
    let printed = state.output.as_ref().map_or(0, |text| text.lines().count() + 2);
    let printed = u16::try_from(printed).unwrap_or(u16::MAX).min(area.height.div_ceil(2));
    let about_max = area.height - printed;
    let about_height = needed.saturating_add(2).min(about_max.max(3));
    let room = Layout::vertical([Constraint::Max(about_height), Constraint::Min(0)]);
    let [above, below] = room.areas(area);
    let title = row.id.as_ref().map_or("configuration", TaskId::as_str);
    frame.render_widget(about.block(bordered_block(title)), above);
    draw_output(frame, state, below);
}

/// Returns an upper bound of the height of wrapped lines. A wrapped word leaves at most half of a
/// line empty, unless the word is longer than that.
fn wrapped_height_max(lines: &[Line<'_>], width: u16) -> u16 {
    let width = usize::from(width.max(1));
    let broken = |line: &Line<'_>| match line.width() {
        fits if fits <= width => 1,
        long => long.div_ceil(width) + 1,
    };
    u16::try_from(lines.iter().map(broken).sum::<usize>()).unwrap_or(u16::MAX)
}

/// Draws the end of the output of the chosen task's run.
fn draw_output(frame: &mut Frame<'_>, state: &ScreenState, area: Rect) {
    let Some(text) = &state.output else {
        frame.render_widget(bordered_block("no output"), area);
        return;
    };
    let room = usize::from(area.height.saturating_sub(2));
    let lines: Vec<&str> = text.lines().collect();
    let scroll = if state.output_expanded { state.scroll } else { 0 };
    let end = lines.len().saturating_sub(scroll).max(room.min(lines.len()));
    let title = if scroll == 0 { "output".to_owned() } else { format!("output, line {end}") };
    let shown = lines[end.saturating_sub(room)..end].join("\n");
    frame.render_widget(Paragraph::new(shown).block(bordered_block(&title)), area);
}

/// Draws the changes of a task from line `scroll` on.
fn draw_diff(frame: &mut Frame<'_>, diff: &str, scroll: usize, area: Rect) {
    let room = usize::from(area.height.saturating_sub(2));
    let lines: Vec<Line<'_>> = diff.lines().skip(scroll).take(room).map(diff_line).collect();
    let title = format!("changes, line {} of {}", scroll + 1, diff.lines().count());
    frame.render_widget(Paragraph::new(lines).block(bordered_block(&title)), area);
}

fn diff_line(line: &str) -> Line<'_> {
    match line.as_bytes().first() {
        _ if line.starts_with("diff ") || line.starts_with("+++") || line.starts_with("---") => {
            Line::styled(line, BOLD)
        }
        Some(b'+') => Line::styled(line, Color::Green),
        Some(b'-') => Line::styled(line, Color::Red),
        Some(b'@') => Line::styled(line, Color::Cyan),
        _ => Line::raw(line),
    }
}

fn footer(state: &ScreenState) -> Line<'_> {
    if let Some((question, _)) = &state.confirmation {
        return Line::styled(question.as_str(), BOLD);
    }
    if let Some((asking, text)) = &state.input {
        let what = match asking {
            InputPurpose::Search => "search",
            InputPurpose::Reason => "what must change",
            InputPurpose::Answer => "your answer",
        };
        return Line::from(vec![
            Span::styled(format!("{what}: "), BOLD),
            Span::raw(text.as_str()),
            Span::raw("▏"),
        ]);
    }
    match &state.last_result {
        Some(result) if result.succeeded => Line::styled(result.text.as_str(), Color::Green),
        Some(result) => Line::styled(result.text.as_str(), Color::Red),
        None => Line::styled(
            "a approve  r reject  t answer  y retry  d changes  enter output  / find  ? help",
            DIM,
        ),
    }
}

fn draw_help(frame: &mut Frame<'_>) {
    let area = frame.area();
    let (width, height) = (54.min(area.width), 15.min(area.height));
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    let room = Rect { x: area.x + x, y: area.y + y, width, height };
    let lines: Vec<Line<'_>> = KEYS
        .iter()
        .map(|(key, what)| {
            Line::from(vec![Span::styled(format!(" {key:<13}"), BOLD), Span::raw(*what)])
        })
        .collect();
    frame.render_widget(Clear, room);
    frame.render_widget(Paragraph::new(lines).block(bordered_block("keys")), room);
}

fn bordered_block(title: &str) -> Block<'_> {
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

    use super::super::screen_state::tests::{row, state};
    use super::*;

    fn shown(state: &ScreenState, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| draw(frame, state)).expect("it can be drawn");
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn top_shows_list_beside_chosen_task_on_wide_terminal() {
        let mut state = state();
        state.output = Some("one\ntwo".to_owned());
        let expected = "\
Adjutant importer  daemon running  1 in progress, concurrency limit 4
 1 Inbox 2   2 In progress 1   3 Ready 0   4 Other 0
┌──────────────────────────────────────────┐┌TASK-2026-11-16-003─────────────────────────────────┐
│review        2m05s Refuse odd names      ││Refuse odd names                                    │
│question      2m05s Choose a licence      ││                                                    │
│                                          ││Refuse odd names: a note.                           │
│                                          │└────────────────────────────────────────────────────┘
│                                          │┌output──────────────────────────────────────────────┐
│                                          ││one                                                 │
│                                          ││two                                                 │
└──────────────────────────────────────────┘└────────────────────────────────────────────────────┘
a approve  r reject  t answer  y retry  d changes  enter output  / find  ? help
";
        assert_eq!(shown(&state, 98, 12), expected);
    }

    #[test]
    fn top_leaves_room_for_output_on_small_terminal() {
        let mut state = state();
        state.snapshot.lists[0] = (1..40).map(|n| row(n, "review", "Long")).collect();
        state.snapshot.lists[0][0].notes = vec!["A long note. ".repeat(60)];
        state.output = Some((1..100).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n"));
        let screen = shown(&state, 80, 24);
        let lines = screen.lines().filter(|line| line.contains("│line ")).count();
        assert!(lines >= 5, "{screen}");
        state.output_expanded = true;
        state.scroll = 50;
        assert!(shown(&state, 80, 24).contains("output, line 49"), "{}", shown(&state, 80, 24));
    }

    #[test]
    fn top_draws_on_terminal_of_any_size() {
        let mut state = state();
        state.output = Some("x".repeat(300));
        for help in [false, true] {
            state.help_shown = help;
            for width in (1..100).step_by(7) {
                for height in [1, 2, 3, 5, 8, 15] {
                    shown(&state, width, height);
                }
            }
        }
    }
}
