//! Tells whoever sits at this machine, by `notify-send`, which is there where desktops are.

use super::letter::Letter;

/// The program that tells a desktop, by `org.freedesktop.Notifications`.
pub(super) const PROGRAM: &str = "notify-send";

/// The most lines that are shown.
const LINES_MAX: usize = 5;

/// Returns what to run. Desktops take the second text for markup, the first for none.
pub(super) fn command(letter: &Letter) -> Vec<String> {
    let lines = letter.lines();
    let title = match lines.len() {
        1 => "Adjutant".to_owned(),
        count => format!("Adjutant: {count} notices"),
    };
    let mut shown: Vec<String> = lines.iter().take(LINES_MAX).map(|line| escape(line)).collect();
    if lines.len() > LINES_MAX {
        shown.push(format!("… and {} more", lines.len() - LINES_MAX));
    }
    let words = ["--app-name=Adjutant", "--", &title, &shown.join("\n")];
    std::iter::once(PROGRAM).chain(words).map(str::to_owned).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
