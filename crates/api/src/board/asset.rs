//! Style, script and icon, compiled in. Each is known by what it is, so that a browser may keep it
//! for ever.

use std::fmt::Write as _;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

/// A file that pages refer to.
#[derive(Debug)]
pub struct Asset {
    /// What it is, for a browser.
    pub media_type: &'static str,
    /// What is in it.
    pub text: &'static str,
    path: String,
}

impl Asset {
    fn new(name: &str, ending: &str, media_type: &'static str, text: &'static str) -> Self {
        let mut hash = String::new();
        for byte in &Sha256::digest(text)[..8] {
            let _ = write!(hash, "{byte:02x}");
        }
        Self { media_type, text, path: format!("/assets/{name}.{hash}.{ending}") }
    }

    /// Returns where it is.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// How pages look.
pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style", "css", "text/css; charset=utf-8", include_str!("style.css"))
});

/// What makes pages live.
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("script", "js", "text/javascript; charset=utf-8", include_str!("script.js"))
});

/// The mark in a browser's tab.
pub static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("icon.svg")));

/// Finds an asset by where it is.
pub fn find(path: &str) -> Option<&'static Asset> {
    [&*STYLE, &*SCRIPT, &*ICON].into_iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_is_found_where_pages_say_it_is() {
        let parts: Vec<&str> = STYLE.path().split('.').collect();
        assert_eq!((parts[0], parts[1].len(), parts[2]), ("/assets/style", 16, "css"));
        assert_eq!(find(SCRIPT.path()).map(|asset| asset.media_type), Some(SCRIPT.media_type));
        assert!(find("/assets/style.css").is_none());
    }

    #[test]
    fn a_script_needs_no_leave_to_run_text() {
        for forbidden in ["innerHTML", "eval(", "new Function", "document.write"] {
            assert!(!SCRIPT.text.contains(forbidden), "{forbidden}");
        }
    }
}
