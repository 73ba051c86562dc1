//! Untrusted text for display: without control characters, and cut to a width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Replaces control and direction characters in untrusted text, so that it cannot move the cursor.
pub fn clean(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() || is_direction_mark(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// Like [`clean`], but keeps line breaks and tabs.
pub fn clean_lines(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(clean).collect::<Vec<_>>().join("\t");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Removes terminal escape sequences, such as colours, and carriage returns before line breaks.
pub fn strip_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        match (one, rest.peek()) {
            // A control sequence ends with a byte from `@` to `~`.
            ('\u{1b}', Some('[')) => {
                rest.next();
                while rest.next().is_some_and(|next| !('\u{40}'..='\u{7e}').contains(&next)) {}
            }
            // A command to the terminal, such as its title, ends with a bell or `ESC \`.
            ('\u{1b}', Some(']')) => {
                while let Some(next) = rest.next_if(|next| *next != '\n') {
                    if next == '\u{7}' || (next == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                        break;
                    }
                }
            }
            ('\u{1b}', Some(next)) if next.is_ascii_graphic() => drop(rest.next()),
            ('\r', Some('\n') | None) => {}
            (one, _) => plain.push(one),
        }
    }
    plain
}

/// Says whether a character changes the writing direction of the text after it.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// Cuts a text to a display width and marks the cut with `…`.
pub fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    let mut room = width - 1;
    let kept = text.chars().take_while(|c| {
        let needed = c.width().unwrap_or(0);
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    });
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::{fit, strip_escapes};

    #[test]
    fn escape_sequences_are_stripped() {
        let cases = [
            ("\u{1b}[32mok\u{1b}[0m done", "ok done"),
            ("\u{1b}]0;title\u{7}a", "a"),
            ("\u{1b}]8;;http://x\u{1b}\\link", "link"),
            ("\u{1b}]never ended\nnext", "\nnext"),
            ("a\r\nb\u{1b}", "a\nb\u{1b}"),
            ("\u{1b}(Bplain", "Bplain"),
        ];
        for (printed, expected) in cases {
            assert_eq!(strip_escapes(printed), expected, "{printed:?}");
        }
    }

    #[test]
    fn fit_cuts_long_text_by_display_width() {
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("longer", 5), "long…");
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("longer", 0), "");
    }
}
