//! The sign-in page, and the page that a browser gets when it has signed in. Both may be seen by
//! callers who are not signed in, so they contain nothing of the project.

use maud::{DOCTYPE, Markup, html};

use super::asset;

/// Asks for the operator's token.
#[derive(Debug, Clone)]
pub struct LoginPage<'a> {
    /// Why the last attempt failed.
    pub message: &'a str,
    /// Where the anti-forgery token is kept: when another tab has signed in, this one continues.
    pub storage_key: &'a str,
    /// The path to open afterwards.
    pub next: &'a str,
}

/// Hands the anti-forgery token to the origin's storage, and opens the page that was asked for.
#[derive(Debug, Clone)]
pub struct SignedInPage<'a> {
    pub storage_key: &'a str,
    pub csrf_token: &'a str,
    pub next: &'a str,
}

impl LoginPage<'_> {
    pub fn render(&self) -> Markup {
        let content = html! {
            section #sign-in .sheet.entry data-key=(self.storage_key) data-next=(self.next) {
                h1 { "Adjutant" }
                p role="status" {
                    (self.message) "Run " code { "adjutant open" } " in the project's folder: its link "
                    "signs this browser in, and this page continues. Or enter the operator's token. "
                    "It is in the file " code { "operator-token" } " of the data folder (usually "
                    code { ".adjutant" } "), or in the file that " code { "[server] token_file" } " names."
                }
                form method="post" action="/login" {
                    input type="hidden" name="next" value=(self.next);
                    label for="token" { "Token" }
                    input #token type="password" name="token" autocomplete="current-password" required;
                    button.do { "Sign in" }
                }
            }
        };
        render_page("Adjutant: sign in", &html! {}, &content)
    }
}

impl SignedInPage<'_> {
    pub fn render(&self) -> Markup {
        let head = html! {
            noscript { meta http-equiv="refresh" content={ "0; url=" (self.next) }; }
        };
        let content = html! {
            section #sign-in .sheet.entry data-key=(self.storage_key) data-next=(self.next)
                data-csrf=(self.csrf_token)
            {
                h1 { "Adjutant" }
                p role="status" { "Signed in. " a href=(self.next) { "Continue" } }
            }
        };
        render_page("Adjutant: signed in", &head, &content)
    }
}

fn render_page(title: &str, head: &Markup, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="stylesheet" href=(asset::STYLE.path());
                link rel="icon" href=(asset::ICON.path()) type="image/svg+xml";
                script src=(asset::SIGN_IN_SCRIPT.path()) defer {}
                (head)
            }
            body { main { (content) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_pages_escape_the_next_path() {
        let next = "/tasks?q=\"><script>alert(1)</script>";
        let login = LoginPage { message: "", storage_key: "key", next };
        let signed_in = SignedInPage { storage_key: "key", csrf_token: "proof", next };
        for page in [login.render(), signed_in.render()] {
            let text = page.into_string();
            assert!(!text.contains("<script>alert"), "{text}");
        }
    }
}
