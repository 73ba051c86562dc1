//! Shows agent output safely, and highlights search matches in it.

use adjutant_config::redact::redact_text;
use maud::{Markup, html};

/// Replaces control and bidirectional characters (except line breaks and tabs) with U+FFFD, removes
/// terminal colours and carriage returns, and redacts secrets.
pub(super) fn sanitize(text: &str) -> String {
    let text = redact_text(text);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        match one {
            '\u{1b}' if rest.peek() == Some(&'[') => {
                rest.next();
                // An escape sequence ends with a byte from `@` to `~`.
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

/// Whether the character changes the direction of the text around it.
fn is_bidi(one: char) -> bool {
    matches!(one, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Shows a text with the search matches highlighted.
pub(super) fn highlight(text: &str, search: Option<&str>) -> Markup {
    let text = sanitize(text);
    let Some(search) = search.filter(|search| !search.is_empty()) else {
        return html! { (text) };
    };
    let mut rest = text.as_str();
    html! {
        @while let Some((before, found, after)) = split_at_match(rest, search) {
            (before) mark { (found) }
            ({ rest = after; "" })
        }
        (rest)
    }
}

/// Splits the text around the first match, ignoring ASCII case.
fn split_at_match<'t>(text: &'t str, search: &str) -> Option<(&'t str, &'t str, &'t str)> {
    let at = text
        .as_bytes()
        .windows(search.len())
        .position(|window| window.eq_ignore_ascii_case(search.as_bytes()))?;
    let end = at + search.len();
    Some((text.get(..at)?, text.get(at..end)?, text.get(end..)?))
}

/// Formats a size in bytes for people.
pub(super) fn format_size(bytes: u64) -> String {
    match bytes {
        ..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_in_output_are_made_visible() {
        assert_eq!(
            sanitize("\u{1b}[31mred\u{1b}[0m\tand\n\u{7}bell\r\n"),
            "red\tand\n\u{fffd}bell\n"
        );
        assert_eq!(sanitize("safe\u{202e}txt.exe"), "safe\u{fffd}txt.exe");
        assert_eq!(sanitize("\u{1b}[31"), "");
        assert_eq!(sanitize("\u{1b}]0;title\u{7}"), "\u{fffd}]0;title\u{fffd}");
    }

    #[test]
    fn search_matches_in_output_are_highlighted() {
        let shown = highlight("Error: an error\n<error>", Some("error")).into_string();
        assert_eq!(shown, "<mark>Error</mark>: an <mark>error</mark>\n&lt;<mark>error</mark>&gt;");
        assert_eq!(highlight("ä", Some("ä")).into_string(), "<mark>ä</mark>");
        assert_eq!(highlight("a", Some("")).into_string(), "a");
    }

    #[test]
    fn size_is_formatted_with_unit() {
        assert_eq!([999, 1_000, 1_250_000].map(format_size), ["999 B", "1.0 kB", "1.2 MB"]);
    }
}
