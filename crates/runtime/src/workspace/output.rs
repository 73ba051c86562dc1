//! Whether a file is there that somebody was to make.

use std::path::Path;

/// Says whether a path leads to something in a folder, without leaving it by a link.
pub fn is_there(folder: &Path, path: &str) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    folder.join(path).canonicalize().is_ok_and(|found| found.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_may_lead_around_and_not_outside() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("work");
        fs::create_dir_all(folder.join("docs")).expect("made");
        fs::write(folder.join("docs/a.md"), "a").expect("written");
        fs::write(home.path().join("secret"), "b").expect("written");
        symlink("docs", folder.join("inside")).expect("linked");
        symlink("..", folder.join("outside")).expect("linked");
        symlink("nowhere", folder.join("broken")).expect("linked");
        for (path, there) in [
            ("docs/a.md", true),
            ("docs", true),
            ("inside/a.md", true),
            ("docs/b.md", false),
            ("outside/secret", false),
            ("../secret", false),
            ("broken", false),
        ] {
            assert_eq!(is_there(&folder, path), there, "{path}");
        }
    }
}
