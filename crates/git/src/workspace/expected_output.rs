//! Checks that an expected output file exists.

use std::path::Path;

/// Returns whether a path exists in a folder, without leaving the folder by a link.
pub fn exists_inside(folder: &Path, path: &str) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    folder.join(path).canonicalize().is_ok_and(|found| found.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn output_link_may_point_inside_but_not_outside() {
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
            assert_eq!(exists_inside(&folder, path), there, "{path}");
        }
    }
}
