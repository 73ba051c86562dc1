//! What is posted, as each receiver reads it. What agents wrote is text there, and no markup.

use serde_json::{Value, json};

use super::letter::Letter;
use crate::config::Format;

/// The most characters of a text for Slack, and for Discord, which refuses more than 2000.
const SLACK_CHARS_MAX: usize = 3_000;
const DISCORD_CHARS_MAX: usize = 1_900;

/// What Discord takes for markup, an emoji, a mention or a link.
const DISCORD_MARKS: &[char] = &[
    '\\', '*', '_', '~', '`', '|', '>', '<', '#', '-', '+', '[', ']', '(', ')', '@', ':', '&', '/',
];

/// Returns what is posted.
pub(super) fn body(format: Format, letter: &Letter) -> Value {
    match format {
        Format::Json => letter.document(),
        Format::Slack => slack(letter),
        Format::Discord => discord(letter),
    }
}

/// Slack knows mentions, links and commands by `<`, which is no `<` any more; the rest of its markup
/// and the finding of names are switched off.
fn slack(letter: &Letter) -> Value {
    let escape =
        |line: &String| line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let text = lines(letter, SLACK_CHARS_MAX, escape);
    json!({
        "text": text,
        "mrkdwn": false,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
    })
}

/// Discord calls nobody, whatever a text says, and takes no character of it for markup.
fn discord(letter: &Letter) -> Value {
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
        "content": lines(letter, DISCORD_CHARS_MAX, escape),
        "allowed_mentions": {"parse": []},
        "flags": SUPPRESS_EMBEDS,
    })
}

/// Returns as many lines as fit, and how many there are besides. One that is too long by itself is
/// cut before its characters are escaped, so that none is cut in half.
fn lines(letter: &Letter, chars_max: usize, escape: impl Fn(&String) -> String) -> String {
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
    use adjutant_core::notice::{Kind, Notice};
    use adjutant_core::{Actor, EventId, TaskId, Time};

    use super::super::letter::Item;
    use super::*;

    fn letter(texts: &[&str]) -> Letter {
        let item = |(n, text): (u64, &&str)| Item {
            id: format!("p-{n}-0"),
            notice: Notice {
                kind: Kind::Review,
                event: EventId(n),
                at: Time::from_millis(0),
                task: TaskId::parse("TASK-2026-02-09-001").ok(),
                title: (*text).to_owned(),
                reason: (*text).to_owned(),
                by: Actor::System,
            },
        };
        Letter { id: "p-1-0".to_owned(), items: (1..).zip(texts).map(item).collect() }
    }

    #[test]
    fn nothing_in_a_text_is_markup_to_slack() {
        let evil = "<!channel> <@U012> <https://evil|good> & *bold*\u{1b}[31m\u{202e}";
        let body = body(Format::Slack, &letter(&[evil]));
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
    fn nothing_in_a_text_is_markup_to_discord_and_nobody_is_called() {
        let body = body(Format::Discord, &letter(&["@everyone <@1> **b** [x](y) `c` # h"]));
        let text = body["content"].as_str().expect("a text");
        assert!(text.starts_with(r"\@everyone \<\@1\> \*\*b\*\* \[x\]\(y\) \`c\` \# h"), "{text}");
        assert_eq!(body["allowed_mentions"], json!({"parse": []}));
    }

    #[test]
    fn what_is_too_long_is_cut_and_the_rest_counted() {
        let long = "<".repeat(5_000);
        let one = body(Format::Slack, &letter(&[&long]));
        assert!(one["text"].as_str().is_some_and(|text| text.chars().count() <= SLACK_CHARS_MAX));
        let some: Vec<&str> = vec!["a title of some length"; 50];
        let body = body(Format::Discord, &letter(&some));
        let text = body["content"].as_str().expect("a text");
        assert!(text.chars().count() < 2_000 && text.contains("\n… and "), "{text}");
    }
}
