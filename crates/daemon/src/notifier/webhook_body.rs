//! The request body in the format of each webhook receiver. Text from agents is escaped, so that it
//! contains no markup there.

use adjutant_config::Format;
use serde_json::{Value, json};

use super::notice_message::NoticeMessage;

/// The longest text for Slack, and for Discord, which refuses more than 2000 characters.
const SLACK_CHARS_MAX: usize = 3_000;
const DISCORD_CHARS_MAX: usize = 1_900;

/// The characters that can start markup, an emoji, a mention or a link in Discord.
const DISCORD_MARKS: &[char] = &[
    '\\', '*', '_', '~', '`', '|', '>', '<', '#', '-', '+', '[', ']', '(', ')', '@', ':', '&', '/',
];

pub(super) fn webhook_body(format: Format, letter: &NoticeMessage) -> Value {
    match format {
        Format::Json => letter.to_json(),
        Format::Slack => slack(letter),
        Format::Discord => discord(letter),
    }
}

/// Escapes `<`, by which Slack recognises mentions, links and commands; the fields switch off its
/// other markup and the lookup of names.
fn slack(letter: &NoticeMessage) -> Value {
    let escape =
        |line: &String| line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let text = join_lines(letter, SLACK_CHARS_MAX, escape);
    json!({
        "text": text,
        "mrkdwn": false,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
    })
}

/// Allows no mentions, and escapes every character that Discord could read as markup.
fn discord(letter: &NoticeMessage) -> Value {
    const SUPPRESS_EMBEDS: u32 = 4;
    let escape = |line: &String| {
        let mut text = String::with_capacity(line.len());
        for c in line.chars() {
            if DISCORD_MARKS.contains(&c) {
                text.push('\\');
            }
            text.push(c);
        }
        text
    };
    json!({
        "content": join_lines(letter, DISCORD_CHARS_MAX, escape),
        "allowed_mentions": {"parse": []},
        "flags": SUPPRESS_EMBEDS,
    })
}

/// Returns as many lines as fit, and the number of the others. A first line that is too long is cut
/// before it is escaped, so that no escape sequence is cut in half.
fn join_lines(
    letter: &NoticeMessage,
    chars_max: usize,
    escape: impl Fn(&String) -> String,
) -> String {
    let all = letter.lines();
    let (mut text, mut taken) = (String::new(), 0);
    for line in &all {
        let mut escaped = escape(line);
        if taken == 0 && escaped.chars().count() > chars_max {
            escaped = escape(&line.chars().take(chars_max / 6).chain(['…']).collect());
        }
        if text.chars().count() + escaped.chars().count() > chars_max {
            break;
        }
        text.push_str(if taken == 0 { "" } else { "\n" });
        text.push_str(&escaped);
        taken += 1;
    }
    match all.len() - taken {
        0 => text,
        left => format!("{text}\n… and {left} more"),
    }
}

#[cfg(test)]
mod tests {
    use adjutant_model::notice::{NoticeKind, OperatorNotice};
    use adjutant_model::{Actor, EventId, TaskId, Time};

    use super::super::notice_message::NoticeItem;
    use super::*;

    fn letter(texts: &[&str]) -> NoticeMessage {
        let item = |(n, text): (u64, &&str)| NoticeItem {
            id: format!("p-{n}-0"),
            notice: OperatorNotice {
                kind: NoticeKind::Review,
                event: EventId(n),
                at: Time::from_millis(0),
                task: TaskId::parse("TASK-2026-02-09-001").ok(),
                title: (*text).to_owned(),
                reason: (*text).to_owned(),
                by: Actor::System,
            },
        };
        NoticeMessage { id: "p-1-0".to_owned(), items: (1..).zip(texts).map(item).collect() }
    }

    #[test]
    fn slack_text_contains_no_markup() {
        let evil = "<!channel> <@U012> <https://evil|good> & *bold*\u{1b}[31m\u{202e}";
        let body = webhook_body(Format::Slack, &letter(&[evil]));
        let text = body["text"].as_str().expect("a text");
        assert!(!text.contains(['<', '>', '\u{1b}', '\u{202e}']), "{text}");
        assert!(
            text.starts_with("&lt;!channel&gt; &lt;@U012&gt; &lt;https://evil|good&gt; &amp; ")
        );
        let off = ["mrkdwn", "link_names", "unfurl_links", "unfurl_media"].map(|key| &body[key]);
        assert_eq!(off, [&json!(false); 4]);
        assert_eq!(body["parse"], "none");
    }

    #[test]
    fn discord_text_contains_no_markup_and_no_mentions() {
        let body = webhook_body(Format::Discord, &letter(&["@everyone <@1> **b** [x](y) `c` # h"]));
        let text = body["content"].as_str().expect("a text");
        assert!(text.starts_with(r"\@everyone \<\@1\> \*\*b\*\* \[x\]\(y\) \`c\` \# h"), "{text}");
        assert_eq!(body["allowed_mentions"], json!({"parse": []}));
    }

    #[test]
    fn long_texts_are_cut_and_omitted_lines_counted() {
        let long = "<".repeat(5_000);
        let one = webhook_body(Format::Slack, &letter(&[&long]));
        assert!(one["text"].as_str().is_some_and(|text| text.chars().count() <= SLACK_CHARS_MAX));
        let some: Vec<&str> = vec!["a title of some length"; 50];
        let body = webhook_body(Format::Discord, &letter(&some));
        let text = body["content"].as_str().expect("a text");
        assert!(text.chars().count() < 2_000 && text.contains("\n… and "), "{text}");
    }
}
