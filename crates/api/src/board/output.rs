//! What agents printed, made harmless and found again.

use adjutant_runtime::secretive::masked;
use maud::{Markup, html};

/// Makes every character that is not to be printed visible, other than line breaks and tabs, leaves
/// out what colours a terminal, and covers what looks like a secret.
pub(super) fn visible(text: &str) -> String {
    let text = masked(text);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        match one {
            '\u{1b}' if rest.peek() == Some(&'[') => {
                rest.next();
                // The end of a sequence is a letter, or one of the few signs beside them.
                while rest.next().is_some_and(|next| !('\u{40}'..='\u{7e}').contains(&next)) {}
            }
            '\n' | '\t' => shown.push(one),
            '\r' => {}
            one if one.is_control() || is_bidi(one) => shown.push('\u{fffd}'),
            one => shown.push(one),
        }
    }
    shown
}

/// Tells the characters that turn the order of others round.
fn is_bidi(one: char) -> bool {
    matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Shows a text with what is looked for marked in it.
pub(super) fn marked(text: &str, search: Option<&str>) -> Markup {
    let text = visible(text);
    let Some(search) = search.filter(|search| !search.is_empty()) else {
        return html! { (text) };
    };
    let mut rest = text.as_str();
    html! {
        @while let Some((before, found, after)) = split(rest, search) {
            (before) mark { (found) }
            ({ rest = after; "" })
        }
        (rest)
    }
}

/// Finds a text in another, whatever the case of its letters where that is plain.
fn split<'t>(text: &'t str, search: &str) -> Option<(&'t str, &'t str, &'t str)> {
    let at = text
        .as_bytes()
        .windows(search.len())
        .position(|window| window.eq_ignore_ascii_case(search.as_bytes()))?;
    let end = at + search.len();
    Some((text.get(..at)?, text.get(at..end)?, text.get(end..)?))
}

/// Says how large something is.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        ..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// Shows a diff with what came and what went told apart, by sign and by tone.
pub(super) fn diff(text: &str) -> Markup {
    let class = |line: &str| match line.as_bytes().first() {
        Some(b'+') => "came",
        Some(b'-') => "went",
        Some(b'@') => "hunk",
        _ => "",
    };
    html! { @for line in visible(text).lines() { span class=(class(line)) { (line) } "\n" } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_to_be_printed_is_seen_and_does_nothing() {
        assert_eq!(
            visible("\u{1b}[31mred\u{1b}[0m\tand\n\u{7}bell\r\n"),
            "red\tand\n\u{fffd}bell\n"
        );
        assert_eq!(visible("safe\u{202e}txt.exe"), "safe\u{fffd}txt.exe");
        assert_eq!(visible("\u{1b}[31"), "");
        assert_eq!(visible("\u{1b}]0;title\u{7}"), "\u{fffd}]0;title\u{fffd}");
    }

    #[test]
    fn what_is_looked_for_is_marked_wherever_it_is() {
        let shown = marked("Error: an error\n<error>", Some("error")).into_string();
        assert_eq!(shown, "<mark>Error</mark>: an <mark>error</mark>\n&lt;<mark>error</mark>&gt;");
        assert_eq!(marked("ä", Some("ä")).into_string(), "<mark>ä</mark>");
        assert_eq!(marked("a", Some("")).into_string(), "a");
    }

    #[test]
    fn a_size_is_said_in_its_unit() {
        assert_eq!([999, 1_000, 1_250_000].map(size), ["999 B", "1.0 kB", "1.2 MB"]);
    }

    #[test]
    fn a_diff_keeps_its_lines() {
        let shown = diff("@@ -1 +1 @@\n-<a>\n+b\n").into_string();
        assert!(shown.contains("<span class=\"went\">-&lt;a&gt;</span>\n"), "{shown}");
    }
}
