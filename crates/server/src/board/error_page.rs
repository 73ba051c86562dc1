//! The error page: what was refused or failed, and what to do next.

use maud::{DOCTYPE, Markup, html};

use super::agent_output::sanitize;
use super::asset;

/// An error as a person sees it in a browser.
#[derive(Debug, Clone)]
pub struct ErrorPage<'a> {
    pub title: &'a str,
    pub detail: &'a str,
    pub hint: Option<&'a str>,
}

impl ErrorPage<'_> {
    /// Renders the page. It contains nothing of the project, because the caller may be anonymous.
    pub fn render(&self) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "Adjutant: error" }
                    link rel="stylesheet" href=(asset::STYLE.path());
                    link rel="icon" href=(asset::ICON.path()) type="image/svg+xml";
                }
                body {
                    main {
                        section.sheet.entry {
                            h1 { (sanitize(self.title)) }
                            @if self.detail != self.title { p role="alert" { (sanitize(self.detail)) } }
                            @if let Some(hint) = self.hint { p { "What to do: " (sanitize(hint)) } }
                            p { a href="/" { "Open the board" } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_page_shows_detail_and_hint_as_text() {
        let page = ErrorPage { title: "Not found.", detail: "<b>x</b>", hint: Some("look again") };
        let shown = page.render().into_string();
        assert!(shown.contains("<h1>Not found.</h1>"), "{shown}");
        assert!(shown.contains("&lt;b&gt;x&lt;/b&gt;") && shown.contains("look again"), "{shown}");
        let short = ErrorPage { title: "Bad request.", detail: "Bad request.", hint: None };
        assert_eq!(short.render().into_string().matches("Bad request.").count(), 1);
    }
}
