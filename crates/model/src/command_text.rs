//! Commands as a person reads them before saying yes.

use std::borrow::Cow;

/// Returns a command on one line, with nothing hidden: a text with line breaks or other control
/// characters is quoted, and they are escaped.
pub fn exact_command(text: &str) -> String {
    if text.chars().any(char::is_control) { format!("{text:?}") } else { text.to_owned() }
}

/// Quotes a word for a shell if it needs quotes.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', "'\\''")))
}

/// Returns the words of a command as a person would type them.
pub fn shell_command<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_words_are_quoted_as_a_shell_would() {
        let quoted = shell_command(["sh", "-c", "rm -rf x", "it's", "", "--a=b"]);
        assert_eq!(quoted, r"sh -c 'rm -rf x' 'it'\''s' '' --a=b");
    }

    #[test]
    fn command_with_line_break_shows_it() {
        assert_eq!(exact_command("make test"), "make test");
        assert_eq!(exact_command("true # x\ntouch y"), r#""true # x\ntouch y""#);
    }
}
