//! The frame around every page: head, navigation and messages.

use maud::{DOCTYPE, Markup, html};

use super::agent_output::sanitize;
use super::asset;

#[derive(Debug, Clone)]
pub struct PageFrame {
    /// The project's name.
    pub project: String,
    /// The number of items in the inbox.
    pub inbox_count: usize,
    /// The result of the person's last action.
    pub message: Option<FlashMessage>,
    /// Where the anti-forgery token is kept in the origin's storage; `None` without a session.
    pub storage_key: Option<String>,
}

/// The result of a person's action, shown once at the top of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlashMessage {
    /// Whether the action succeeded.
    pub succeeded: bool,
    pub text: String,
}

/// The pages in the navigation bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardTab {
    Board,
    Inbox,
    Stories,
    Agents,
    Record,
    Figures,
}

impl BoardTab {
    /// Every tab, in the order of the navigation bar.
    pub const ALL: [Self; 6] =
        [Self::Board, Self::Inbox, Self::Stories, Self::Agents, Self::Record, Self::Figures];

    fn name(self) -> &'static str {
        match self {
            Self::Board => "Board",
            Self::Inbox => "Inbox",
            Self::Stories => "Stories",
            Self::Agents => "Agents",
            Self::Record => "Event log",
            Self::Figures => "Statistics",
        }
    }

    pub fn path(self) -> &'static str {
        match self {
            Self::Board => "/",
            Self::Inbox => "/inbox",
            Self::Stories => "/stories",
            Self::Agents => "/agents",
            Self::Record => "/record",
            Self::Figures => "/figures",
        }
    }
}

impl PageFrame {
    /// Renders a whole page around its content.
    pub fn render(&self, title: &str, tab: Option<BoardTab>, content: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (sanitize(title)) " · " (self.project) " · Adjutant" }
                    link rel="stylesheet" href=(asset::STYLE.path());
                    link rel="icon" href=(asset::ICON.path()) type="image/svg+xml";
                    script src=(asset::SCRIPT.path()) defer {}
                }
                body data-storage-key=[self.storage_key.as_deref()] {
                    a.skip href="#main" { "Skip to content" }
                    (self.render_bar(tab))
                    main #main tabindex="-1" {
                        (render_change_notes())
                        @if let Some(said) = &self.message { (said.render()) }
                        (content)
                    }
                    p #heard .unseen aria-live="polite" {}
                    (render_key_help())
                    (render_confirmation())
                }
            }
        }
    }

    fn render_bar(&self, tab: Option<BoardTab>) -> Markup {
        html! {
            header.bar {
                a.mark href="/" { "Adjutant " span { (self.project) } }
                nav aria-label="Pages" {
                    ul {
                        @for one in BoardTab::ALL {
                            li {
                                a href=(one.path()) aria-current=[(tab == Some(one)).then_some("page")] {
                                    (one.name())
                                    @if one == BoardTab::Inbox { (self.render_badge()) }
                                }
                            }
                        }
                    }
                }
                form role="search" action="/" method="get" {
                    label.unseen for="q" { "Search tasks" }
                    input #q type="search" name="q" placeholder="Search tasks" autocomplete="off";
                    span #live .live hidden { "live" }
                }
                @if self.storage_key.is_some() {
                    form.leave method="post" action="/logout" { button { "Sign out" } }
                }
            }
        }
    }

    fn render_badge(&self) -> Markup {
        html! {
            span #waiting {
                @if self.inbox_count > 0 {
                    " " span.badge { (self.inbox_count) span.unseen { " items" } }
                }
            }
        }
    }
}

impl FlashMessage {
    fn render(&self) -> Markup {
        let role = if self.succeeded { "status" } else { "alert" };
        html! { p.said.no[!self.succeeded] role=(role) { (sanitize(&self.text)) } }
    }
}

/// Says why this browser cannot change anything, if it cannot. The script shows the second note.
fn render_change_notes() -> Markup {
    html! {
        noscript {
            p.said.no { "You can read every page, but changes need JavaScript: enable it, or use the command line." }
        }
        p #no-proof .said.no role="alert" hidden {
            "This browser cannot change anything: its sign-in is incomplete. " a href="/login" { "Sign in again" } "."
        }
    }
}

/// The dialog that asks before a form merges, cancels or decides on several tasks. The script writes
/// the question into it.
fn render_confirmation() -> Markup {
    html! {
        dialog #ask aria-labelledby="ask-title" {
            h2 #ask-title { "Please confirm" }
            p.text {}
            form.row method="dialog" {
                button.do value="yes" { "Yes" }
                button value="no" { "No" }
            }
        }
    }
}

/// The help dialog for keyboard shortcuts.
fn render_key_help() -> Markup {
    let keys = [
        ("j / k", "highlight the next or previous entry"),
        ("Enter", "open the highlighted entry"),
        ("Space", "select the highlighted entry (inbox)"),
        ("a", "approve (asks first if the work is merged)"),
        ("r", "reject"),
        ("/", "search tasks"),
        ("?", "show this help"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keyboard shortcuts" }
            dl.facts { @for (key, what) in keys { dt { kbd { (key) } } dd { (what) } } }
            form method="dialog" { button { "Close" } }
        }
    }
}
