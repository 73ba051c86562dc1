//! Renders Markdown from people and agents as harmless markup.
//!
//! HTML in the text is shown as text. Links may only lead to the web or to mail, and an image
//! becomes a link: our pages load nothing from other hosts.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::agent_output::sanitize;

pub(super) fn render_markdown(text: &str) -> Markup {
    let text = sanitize(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut markup = String::with_capacity(text.len() * 2);
    html::push_html(&mut markup, Parser::new_ext(&text, options).map(neutralize));
    PreEscaped(markup)
}

fn neutralize(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(
            Tag::Link { link_type, dest_url, title, id }
            | Tag::Image { link_type, dest_url, title, id },
        ) => Event::Start(Tag::Link { link_type, dest_url: safe_link(dest_url), title, id }),
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        other => other,
    }
}

/// Returns the link target, or `#` if its scheme is not http, https or mailto.
fn safe_link(to: CowStr<'_>) -> CowStr<'_> {
    let lower = to.trim().to_ascii_lowercase();
    let fine = ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    if fine { to } else { CowStr::Borrowed("#") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_rendered() {
        let text = render_markdown(
            "## Heading\n\n- [x] **done**\n\n`code` and [there](https://example.org)\n",
        );
        let markup = text.into_string();
        for part in ["<h2>Heading</h2>", "<strong>done</strong>", "<code>code</code>"] {
            assert!(markup.contains(part), "{markup}");
        }
        assert!(markup.contains("<a href=\"https://example.org\">there</a>"), "{markup}");
    }

    #[test]
    fn markdown_html_and_unsafe_links_are_neutralized() {
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
            let markup = render_markdown(text).into_string();
            for sign in ["<script", "<img", "<div", "href=\"javascript", "href=\"data"] {
                assert!(!markup.to_ascii_lowercase().contains(sign), "{text}: {markup}");
            }
            assert!(!markup.contains("\" onmouseover="), "{text}: {markup}");
        }
    }
}
