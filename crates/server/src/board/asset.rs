//! The style sheet, script and icon, compiled in. Each path contains a hash of the content, so that
//! browsers may cache it forever.

use std::fmt::Write as _;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

#[derive(Debug)]
pub struct StaticAsset {
    pub media_type: &'static str,
    pub text: &'static str,
    path: String,
}

impl StaticAsset {
    fn new(name: &str, ending: &str, media_type: &'static str, text: &'static str) -> Self {
        let mut hash = String::new();
        for byte in &Sha256::digest(text)[..8] {
            let _ = write!(hash, "{byte:02x}");
        }
        Self { media_type, text, path: format!("/assets/{name}.{hash}.{ending}") }
    }

    pub fn path(&self) -> &str {
        &self.path
    }
}

pub static STYLE: LazyLock<StaticAsset> = LazyLock::new(|| {
    StaticAsset::new("style", "css", "text/css; charset=utf-8", include_str!("style.css"))
});

/// The script that updates pages live.
pub static SCRIPT: LazyLock<StaticAsset> = LazyLock::new(|| {
    StaticAsset::new("script", "js", "text/javascript; charset=utf-8", include_str!("script.js"))
});

/// The script of the sign-in pages.
pub static SIGN_IN_SCRIPT: LazyLock<StaticAsset> = LazyLock::new(|| {
    StaticAsset::new("sign-in", "js", "text/javascript; charset=utf-8", include_str!("sign_in.js"))
});

/// The icon in the browser tab.
pub static ICON: LazyLock<StaticAsset> =
    LazyLock::new(|| StaticAsset::new("icon", "svg", "image/svg+xml", include_str!("icon.svg")));

/// Finds an asset by its URL path.
pub fn find(path: &str) -> Option<&'static StaticAsset> {
    [&*STYLE, &*SCRIPT, &*SIGN_IN_SCRIPT, &*ICON].into_iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asset_is_found_at_its_hashed_path() {
        let parts: Vec<&str> = STYLE.path().split('.').collect();
        assert_eq!((parts[0], parts[1].len(), parts[2]), ("/assets/style", 16, "css"));
        assert_eq!(find(SCRIPT.path()).map(|asset| asset.media_type), Some(SCRIPT.media_type));
        assert!(find("/assets/style.css").is_none());
    }

    #[test]
    fn script_does_not_evaluate_text() {
        for forbidden in ["innerHTML", "eval(", "new Function", "document.write"] {
            for script in [&*SCRIPT, &*SIGN_IN_SCRIPT] {
                assert!(!script.text.contains(forbidden), "{forbidden}");
            }
        }
    }
}
