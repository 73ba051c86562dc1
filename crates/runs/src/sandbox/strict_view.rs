//! What a command sees in a `strict` sandbox: the system read-only, and a home of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use adjutant_run_files::sandbox_spec::{SandboxMount, StrictSandbox};

use super::auto_level::contains;
use super::home_view::show_toolchains;

/// The folders of the system. All others are missing unless they are named.
const SYSTEM_FOLDERS: [&str; 14] = [
    "/bin",
    "/etc",
    "/gnu",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/opt",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var/lib/snapd",
];

/// Folders of the machine that a command gets its own of, in memory.
const PRIVATE_FOLDERS: [&str; 3] = ["/run", "/tmp", "/var/tmp"];

/// Files of the system that may be links to outside its folders.
const LINKED_FILES: [&str; 5] =
    ["/etc/group", "/etc/hosts", "/etc/localtime", "/etc/passwd", "/etc/resolv.conf"];

/// Secrets of the system, as far as this user can read them.
const SYSTEM_SECRETS: [&str; 8] = [
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/etc/NetworkManager/system-connections",
];

/// Returns a view of the system alone.
pub fn system_view() -> StrictSandbox {
    let mut view = StrictSandbox::default();
    for folder in SYSTEM_FOLDERS.map(Path::new) {
        match fs::read_link(folder) {
            Ok(target) => drop(view.mounts.insert(folder.to_owned(), SandboxMount::Link(target))),
            Err(_) if folder.is_dir() => view.allow_reading(folder),
            Err(_) => {}
        }
    }
    for folder in PRIVATE_FOLDERS {
        view.mounts.insert(folder.into(), SandboxMount::Private);
    }
    for file in LINKED_FILES {
        if let Ok(real) = fs::canonicalize(file) {
            show(&mut view, &real);
        }
    }
    for secret in SYSTEM_SECRETS.map(Path::new) {
        let Ok(at) = secret.symlink_metadata() else { continue };
        if at.is_dir() && fs::read_dir(secret).is_ok() {
            view.hide(secret);
        } else if at.is_file() && fs::File::open(secret).is_ok() {
            let nothing = SandboxMount::ReadOnlyFrom("/dev/null".into());
            view.mounts.insert(secret.to_owned(), nothing);
        }
    }
    view
}

/// Returns a view of the system with this program, and a home with the programs in `PATH`.
pub fn command_view(program: &Path, search_path: &OsStr) -> StrictSandbox {
    let mut view = system_view();
    if let Some(home) = home_folder() {
        view.mounts.insert(home.clone(), SandboxMount::Private);
        show_toolchains(&mut view, &home, search_path);
    }
    show(&mut view, program);
    view
}

/// Returns the home of the user; `None` if it has none.
pub fn home_folder() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute() && home.parent().is_some())
}

/// Returns whether a folder contains the home of the user, with everything that the sandbox hides.
pub fn contains_home(folder: &Path) -> bool {
    home_folder().is_some_and(|home| contains(folder, &home))
}

/// Lets a command work in a folder, but not change the git folder in it: git outside the sandbox
/// would obey its hooks and settings.
pub fn allow_working(view: &mut StrictSandbox, folder: &Path) {
    view.allow_writing(folder);
    let git = folder.join(".git");
    if git.symlink_metadata().is_ok_and(|at| at.is_dir() || at.is_file()) {
        view.mounts.insert(git, SandboxMount::ReadOnly);
    }
}

/// Shows a path read-only, and the path that its links lead to.
pub fn show(view: &mut StrictSandbox, path: &Path) {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    for path in [real, path.to_owned()] {
        if !is_shown(view, &path) {
            view.allow_reading(path);
        }
    }
}

/// Returns whether a path is visible already, as it is on the machine.
pub(super) fn is_shown(view: &StrictSandbox, path: &Path) -> bool {
    let mount = path.ancestors().find_map(|above| view.mounts.get(above));
    // The only links are those of the system, which lead to other folders of the system.
    matches!(mount, Some(SandboxMount::ReadOnly | SandboxMount::Writable | SandboxMount::Link(_)))
}

/// Returns the object folders that a git folder borrows from, and those that they borrow from.
pub fn borrowed_objects(git: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![git.join("objects")]);
    while let Some(objects) = open.pop() {
        let listed = fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
        for path in listed.lines().map(|line| objects.join(line)) {
            if path.is_dir() && !found.contains(&path) {
                found.push(path.clone());
                open.push(path);
            }
        }
    }
    found
}

/// Returns an error unless a path is a folder and no link.
pub fn require_folder(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        return Ok(());
    }
    Err(io::Error::other(format!("{} is not a folder", path.display())))
}
