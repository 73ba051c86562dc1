//! Renders an event of the event log in one line.

use adjutant_query::event_text::{describe_event, is_routine_warning};
use adjutant_query::text::fit;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::output::{CommandOutput, TextColour, clean};

/// The terminal width that has room for the whole time and the actor.
const WIDE_COLUMNS_MIN: usize = 120;

/// Returns an event as text, cut to the terminal. Takes any JSON: other programs may have written
/// the event log.
pub(crate) fn line(out: &CommandOutput, event: &Value) -> String {
    let paint = |colour, text: &str| out.paint(colour, text);
    render_parts(event_parts(event, out.width()), out.width().unwrap_or(usize::MAX), &paint)
}

/// Returns the parts of an event's line, each with its colour and minimum width.
fn event_parts(event: &Value, terminal: Option<usize>) -> Vec<(TextColour, String, usize)> {
    let text = |key: &str| clean(event[key].as_str().unwrap_or_default());
    let kind = text("type");
    let number = format!("{:>5}", clean(&event["eventId"].to_string()));
    let mut words = vec![(TextColour::Dim, number, 5)];
    let wide = terminal.is_none_or(|width| width >= WIDE_COLUMNS_MIN);
    words.push((TextColour::Dim, time(&text("timestamp"), wide), 0));
    let tone = if is_routine_warning(event) { TextColour::Dim } else { colour(&kind) };
    words.push((tone, kind, 25));
    words.push((TextColour::Plain, text("taskId"), 19));
    if wide {
        words.push((TextColour::Plain, actor(&text("actor"), &text("node")), 0));
    }
    words.push((TextColour::Plain, describe_event(event), 0));
    words
}

/// Shows who caused an event, with the fleet node that asked, if another node decided.
fn actor(name: &str, node: &str) -> String {
    if node.is_empty() { name.to_owned() } else { format!("{name} on {node}") }
}

/// Shows a time to the second; on a narrow terminal to the minute and without the year.
fn time(timestamp: &str, wide: bool) -> String {
    let seconds = timestamp.split('.').next().unwrap_or_default().replace('T', " ");
    if wide {
        return seconds;
    }
    let short = seconds.split_once('-').and_then(|(_, rest)| rest.rsplit_once(':'));
    short.map_or(seconds.clone(), |(minutes, _)| minutes.to_owned())
}

fn render_parts(
    words: Vec<(TextColour, String, usize)>,
    mut room: usize,
    paint: &dyn Fn(TextColour, &str) -> String,
) -> String {
    let mut line = String::new();
    for (n, (colour, text, width)) in words.into_iter().enumerate() {
        let gap = if n == 0 { "" } else { "  " };
        let text = fit(&text, room.saturating_sub(gap.len()));
        if text.is_empty() && width == 0 {
            continue;
        }
        let blank = " ".repeat(width.saturating_sub(text.width()));
        room = room.saturating_sub(gap.len() + text.width() + blank.len());
        line.extend([gap, &paint(colour, &text), &blank]);
    }
    line.trim_end().to_owned()
}

fn colour(kind: &str) -> TextColour {
    match kind {
        kind if kind.ends_with("rejected") || kind.ends_with("refused") => TextColour::Red,
        kind if kind.ends_with("warning") || kind.ends_with("unknown") => TextColour::Yellow,
        "task.transitioned" | "task.completed" => TextColour::Green,
        _ => TextColour::Blue,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(terminal: Option<usize>) -> String {
        let event = json!({
            "eventId": 17, "type": "task.transitioned", "timestamp": "2026-02-09T21:10:00.000Z",
            "actor": "swe-backend", "taskId": "TASK-2026-02-09-057",
            "payload": {"from": "in-progress", "to": "review", "reason": "All \u{1b}[31mmet"},
        });
        let room = terminal.unwrap_or(usize::MAX);
        render_parts(event_parts(&event, terminal), room, &|_, text| text.to_owned())
    }

    #[test]
    fn event_line_shows_everything_on_wide_terminal() {
        let whole = "   17  2026-02-09 21:10:00  task.transitioned          TASK-2026-02-09-057  \
                     swe-backend  in-progress → review: All \u{fffd}[31mmet";
        assert_eq!(shown(None), whole);
        assert_eq!(shown(Some(200)), whole);
    }

    #[test]
    fn event_line_fits_narrow_terminal() {
        let narrow =
            "   17  02-09 21:10  task.transitioned          TASK-2026-02-09-057  in-progress…";
        assert_eq!(shown(Some(80)), narrow);
        assert_eq!(shown(Some(40)), "   17  02-09 21:10  task.transitioned");
        for terminal in 1..150 {
            assert!(shown(Some(terminal)).width() <= terminal, "{terminal}");
        }
    }

    #[test]
    fn event_line_names_node_that_asked() {
        let event =
            json!({"eventId": 1, "type": "task.created", "actor": "human:alice", "node": "b"});
        let words = event_parts(&event, None);
        let line = render_parts(words, 200, &|_, text| text.to_owned());
        assert!(line.contains("  human:alice on b"), "{line}");
    }

    #[test]
    fn event_line_shows_malformed_event_as_far_as_possible() {
        let words = event_parts(&json!({"eventId": "x", "payload": 3}), None);
        assert_eq!(render_parts(words, 80, &|_, text| text.to_owned()), "  \"x\"");
    }
}
