//! Shows a notice on this machine's desktop, by `notify-send`.

use super::notice_message::NoticeMessage;

/// The program that sends a desktop notification, by `org.freedesktop.Notifications`.
pub(super) const PROGRAM: &str = "notify-send";

const LINES_MAX: usize = 5;

/// Returns the command to run. Desktops read markup in the second text, and none in the first.
pub(super) fn desktop_command(letter: &NoticeMessage) -> Vec<String> {
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
