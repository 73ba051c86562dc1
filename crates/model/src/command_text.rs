//! Commands as a person reads them before saying yes.

/// Returns a command on one line, with nothing hidden: a text with line breaks or other control
/// characters is quoted, and they are escaped.
pub fn exact_command(text: &str) -> String {
    if text.chars().any(char::is_control) { format!("{text:?}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_with_line_break_shows_it() {
        assert_eq!(exact_command("make test"), "make test");
        assert_eq!(exact_command("true # x\ntouch y"), r#""true # x\ntouch y""#);
    }
}
