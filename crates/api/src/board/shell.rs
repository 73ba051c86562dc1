//! What every page has around it.

use maud::{DOCTYPE, Markup, html};

use super::asset;

/// What a page has around it.
#[derive(Debug, Clone)]
pub struct Shell {
    /// What the project is called.
    pub project: String,
    /// How many things wait for a person.
    pub waiting: usize,
    /// What came of what the person just did.
    pub said: Option<Said>,
    /// What proves that a form came from a page of ours.
    pub csrf: String,
}

/// What came of what a person just did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Whether it was done.
    pub done: bool,
    /// In words.
    pub text: String,
}

/// The pages there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// The columns.
    Board,
    /// What waits for a person.
    Inbox,
    /// Stories as lines of steps.
    Stories,
    /// Agents and their slots.
    Agents,
    /// The record.
    Record,
    /// Plots.
    Figures,
}

impl Tab {
    /// Every page there is, in the order of the bar.
    pub const ALL: [Self; 6] =
        [Self::Board, Self::Inbox, Self::Stories, Self::Agents, Self::Record, Self::Figures];

    fn name(self) -> &'static str {
        match self {
            Self::Board => "Board",
            Self::Inbox => "Inbox",
            Self::Stories => "Stories",
            Self::Agents => "Agents",
            Self::Record => "Record",
            Self::Figures => "Figures",
        }
    }

    /// Returns where the page is.
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

impl Shell {
    /// Puts a page together.
    pub fn page(&self, title: &str, tab: Option<Tab>, content: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) " · " (self.project) " · Adjutant" }
                    link rel="stylesheet" href=(asset::STYLE.path());
                    link rel="icon" href=(asset::ICON.path()) type="image/svg+xml";
                    script src=(asset::SCRIPT.path()) defer {}
                }
                body {
                    a.skip href="#main" { "Skip to content" }
                    (self.bar(tab))
                    main #main tabindex="-1" {
                        @if let Some(said) = &self.said { (said.shown()) }
                        (content)
                    }
                    p #heard .unseen aria-live="polite" {}
                    (keys())
                }
            }
        }
    }

    fn bar(&self, tab: Option<Tab>) -> Markup {
        html! {
            header.bar {
                a.mark href="/" { "Adjutant " span { (self.project) } }
                nav aria-label="Pages" {
                    ul {
                        @for one in Tab::ALL {
                            li {
                                a href=(one.path()) aria-current=[(tab == Some(one)).then_some("page")] {
                                    (one.name())
                                    @if one == Tab::Inbox { (self.badge()) }
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
            }
        }
    }

    fn badge(&self) -> Markup {
        html! {
            span #waiting {
                @if self.waiting > 0 {
                    " " span.badge { (self.waiting) span.unseen { " waiting" } }
                }
            }
        }
    }
}

impl Said {
    fn shown(&self) -> Markup {
        let role = if self.done { "status" } else { "alert" };
        html! { p.said.no[!self.done] role=(role) { (self.text) } }
    }
}

/// The keys, for who asks.
fn keys() -> Markup {
    let keys = [
        ("j / k", "next, previous"),
        ("Enter", "open"),
        ("a", "approve"),
        ("r", "reject"),
        ("/", "search"),
        ("?", "this list"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl.facts { @for (key, what) in keys { dt { kbd { (key) } } dd { (what) } } }
            form method="dialog" { button { "Close" } }
        }
    }
}
