//! A path of this server that a browser is sent to. An open redirect would help phishing.

use axum::http::Uri;

/// A path of this server, with its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalPath(String);

impl LocalPath {
    /// Returns the path in the text, or the front page if the text leads elsewhere. Browsers drop
    /// tabs and line ends and take `\` for `/`, so only visible characters are accepted.
    pub(super) fn parse_or_home(text: &str) -> Self {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        if text.starts_with('/') && !text.starts_with("//") && is_visible {
            Self(text.to_owned())
        } else {
            Self("/".to_owned())
        }
    }

    pub(super) fn from_uri(uri: &Uri) -> Self {
        Self::parse_or_home(uri.path_and_query().map_or("/", |path| path.as_str()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the sign-in page that leads to this path.
    pub(super) fn login_path(&self) -> String {
        if self.0 == "/" {
            return "/login".to_owned();
        }
        let next: String = form_urlencoded::byte_serialize(self.0.as_bytes()).collect();
        format!("/login?next={next}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_path_leads_only_to_this_server() {
        for path in [
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\r\nx",
            "evil.example",
            "/ä",
            "",
        ] {
            assert_eq!(LocalPath::parse_or_home(path).as_str(), "/", "{path:?}");
        }
        let path = "/tasks/T?run=1&find=a%20b";
        assert_eq!(LocalPath::parse_or_home(path).as_str(), path);
    }

    #[test]
    fn login_path_carries_the_path_that_was_asked_for() {
        let login = |path: &str| LocalPath::parse_or_home(path).login_path();
        assert_eq!(login("/"), "/login");
        assert_eq!(login("/tasks/T?run=1&find=x"), "/login?next=%2Ftasks%2FT%3Frun%3D1%26find%3Dx");
    }
}
