//! The caches of build tools in a `strict` sandbox. The user's own caches are not writable there, so
//! a project has its own. What the user's cargo has downloaded is linked into them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use adjutant_process::atomic_file::create_private_folder;
use adjutant_run_files::sandbox_spec::StrictSandbox;

use super::folder_handle::FolderHandle;
use super::strict_view::show;

/// The variables that tell tools where their caches are, and the folders.
const CACHE_VARIABLES: [(&str, &str); 8] = [
    ("CARGO_HOME", "cargo"),
    ("GOMODCACHE", "go-mod"),
    ("GRADLE_USER_HOME", "gradle"),
    ("XDG_CACHE_HOME", "xdg"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("npm_config_cache", "npm"),
    ("npm_config_store_dir", "pnpm"),
    ("npm_config_update_notifier", ""),
];

/// Folders of a cargo home whose entries never change once they are there.
const CARGO_STORES: [&str; 4] = ["git/checkouts", "git/db", "registry/cache", "registry/src"];

/// Lets a command write to the caches in `folder`, and returns the variables for its environment.
pub fn allow_caches(
    view: &mut StrictSandbox,
    home: Option<&Path>,
    folder: &Path,
) -> io::Result<BTreeMap<String, String>> {
    create_private_folder(folder)?;
    let caches = FolderHandle::open(folder)?;
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| Some(home?.join(".cargo"))).filter(|path| path.is_dir());
    let own = caches.create_inside(Path::new("cargo"))?;
    if let Some(cargo) = cargo {
        link_downloads(&cargo, &own)?;
        for store in ["git", "registry"].map(|store| cargo.join(store)) {
            if store.is_dir() {
                show(view, &store);
            }
        }
    }
    view.allow_writing(folder);
    let variables = CACHE_VARIABLES.iter().map(|(name, cache)| match *cache {
        "" => ((*name).to_owned(), "false".to_owned()),
        cache => ((*name).to_owned(), folder.join(cache).to_string_lossy().into_owned()),
    });
    Ok(variables.collect())
}

/// Links the downloads of the user's cargo into another cargo home, and copies its settings.
fn link_downloads(from: &Path, to: &FolderHandle) -> io::Result<()> {
    if let Ok(settings) = fs::read(from.join("config.toml")) {
        to.write(OsStr::new("config.toml"), &settings)?;
    }
    for store in CARGO_STORES {
        let nested = store.starts_with("registry");
        let inside = to.create_inside(Path::new(store))?;
        link_entries(&from.join(store), &inside, nested)?;
    }
    let index = from.join("registry/index");
    for registry in entries(&index) {
        let own = to.create_inside(&Path::new("registry/index").join(file_name(&registry)))?;
        // Cargo replaces its settings of a registry, and does without writing the rest.
        if let Ok(settings) = fs::read(registry.join("config.json")) {
            own.write(OsStr::new("config.json"), &settings)?;
        }
        own.link(OsStr::new(".cache"), &registry.join(".cache"))?;
    }
    Ok(())
}

/// Links every entry of a folder that the other one lacks; with `nested`, the entries of each.
fn link_entries(from: &Path, to: &FolderHandle, nested: bool) -> io::Result<()> {
    let there = to.names()?;
    for entry in entries(from) {
        let name = file_name(&entry);
        if nested {
            link_entries(&entry, &to.create_inside(Path::new(name))?, false)?;
        } else if !there.contains(name.as_bytes()) {
            to.link(name, &entry)?;
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn file_name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}
