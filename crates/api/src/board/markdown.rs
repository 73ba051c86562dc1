//! Markdown of people and agents, as markup that can do nothing.
//!
//! What is HTML in it is shown as the text it is. A link leads only to the web or to mail, and a
//! picture is shown as a link: a page of ours fetches nothing from elsewhere.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::output::visible;

/// Shows a text in Markdown.
pub(super) fn shown(text: &str) -> Markup {
    let text = visible(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut markup = String::with_capacity(text.len() * 2);
    html::push_html(&mut markup, Parser::new_ext(&text, options).map(harmless));
    PreEscaped(markup)
}

fn harmless(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(
            Tag::Link { link_type, dest_url, title, id }
            | Tag::Image { link_type, dest_url, title, id },
        ) => Event::Start(Tag::Link { link_type, dest_url: checked(dest_url), title, id }),
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        other => other,
    }
}

/// Returns where a link leads, or nowhere if it leads anywhere but to the web or to mail.
fn checked(to: CowStr<'_>) -> CowStr<'_> {
    let lower = to.trim().to_ascii_lowercase();
    let fine = ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    if fine { to } else { CowStr::Borrowed("#") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_markdown_is_shown_as_it_is_meant() {
        let text =
            shown("## Heading\n\n- [x] **done**\n\n`code` and [there](https://example.org)\n");
        let markup = text.into_string();
        for part in ["<h2>Heading</h2>", "<strong>done</strong>", "<code>code</code>"] {
            assert!(markup.contains(part), "{markup}");
        }
        assert!(markup.contains("<a href=\"https://example.org\">there</a>"), "{markup}");
    }

    #[test]
    fn nothing_in_it_becomes_markup_of_its_own() {
        let evil = [
            "<script>alert(1)</script>",
            "<div onclick=alert(1)>\n\ntext\n\n</div>",
            "a <img src=x onerror=alert(1)> b",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x]( data:text/html,<script>alert(1)</script>)",
            "![x](https://elsewhere.example/track.png)",
            "<https://example.org/\"onmouseover=alert(1)>",
            "[x](https://example.org \"t\\\" onmouseover=alert(1)\")",
            "```\"><script>alert(1)</script>\n```",
            "[a]: javascript:alert(1)\n\n[a]",
        ];
        for text in evil {
            let markup = shown(text).into_string();
            for sign in ["<script", "<img", "<div", "href=\"javascript", "href=\"data"] {
                assert!(!markup.to_ascii_lowercase().contains(sign), "{text}: {markup}");
            }
            assert!(!markup.contains("\" onmouseover="), "{text}: {markup}");
        }
    }
}
