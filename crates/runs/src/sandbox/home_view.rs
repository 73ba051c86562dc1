//! What a command sees of the user's home in a `strict` sandbox: the programs in `PATH` with the
//! folders that they are installed in, all read-only. Everything else in the home is missing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use adjutant_run_files::sandbox_spec::{SandboxMount, StrictSandbox};

use super::strict_view::{is_shown, show};

/// Folders in a home that version managers and installers own, and that hold no secrets.
const TOOL_FOLDERS: [&str; 32] = [
    ".asdf",
    ".bun",
    ".deno",
    ".dotnet",
    ".elan",
    ".fnm",
    ".foundry",
    ".ghcup",
    ".goenv",
    ".jenv",
    ".juliaup",
    ".local/pipx",
    ".local/share/claude",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/rtx",
    ".local/share/uv",
    ".nodenv",
    ".nvm",
    ".opam",
    ".opencode",
    ".proto",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rye",
    ".sdkman/candidates",
    ".swiftly",
    ".volta",
    "go",
];

/// Folders in a home that are too broad to show as a whole.
const BROAD_FOLDERS: [&str; 8] =
    [".cache", ".cargo", ".config", ".local", ".local/share", ".local/state", ".npm", "Documents"];

/// How much of a program is read to find its interpreter.
const FIRST_LINE_BYTES: u64 = 256;

/// Shows the programs in `PATH`, and what they need.
pub fn show_toolchains(view: &mut StrictSandbox, home: &Path, search_path: &OsStr) {
    let folders: Vec<PathBuf> =
        std::env::split_paths(search_path).filter(|folder| folder.is_absolute()).collect();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        if is_shown(view, folder) || home.starts_with(folder) {
            continue;
        }
        let shown = install_folder(home, folder).unwrap_or_else(|| folder.clone());
        show(view, &shown);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            show_program(view, home, &entry.path());
        }
    }
    // The programs in `~/.cargo/bin` start those of a toolchain, and those of `pip install --user`
    // load their libraries.
    for (programs, needed) in [(".cargo/bin", ".rustup"), (".local/bin", ".local/lib")] {
        let needed = home.join(needed);
        if folders.contains(&home.join(programs)) && needed.is_dir() {
            show(view, &needed);
        }
    }
}

/// Shows a program: the file, what it is a link to, and its interpreter.
pub fn show_program(view: &mut StrictSandbox, home: &Path, program: &Path) {
    let Ok(real) = program.canonicalize() else { return };
    if !real.is_file() {
        return;
    }
    if !is_shown(view, &real) {
        let shown = package_folder(home, &real).unwrap_or_else(|| real.clone());
        show(view, &shown);
    }
    if !is_shown(view, program) {
        // A link in a folder that is not shown as a whole.
        view.mounts.insert(program.to_owned(), SandboxMount::ReadOnly);
    }
    show_interpreter(view, home, &real);
}

/// Shows a file that a command names: alone, unless it is part of a package, which needs its other
/// files. The folder that it lies in may be that of a project.
pub fn show_named_file(view: &mut StrictSandbox, home: &Path, file: &Path) {
    let Ok(real) = file.canonicalize() else { return };
    let package = modules_folder(&real).or_else(|| tool_folder(home, &real));
    if let Some(package) = package.filter(|package| !is_broad(home, package)) {
        show(view, &package);
        if !is_shown(view, file) {
            // Programs find the rest of their package by the path that the link leads to.
            view.mounts.insert(file.to_owned(), SandboxMount::Link(real.clone()));
        }
    } else {
        show(view, file);
    }
    show_interpreter(view, home, &real);
}

/// Shows the interpreter of a script, and for one of a Python environment the Python below it.
fn show_interpreter(view: &mut StrictSandbox, home: &Path, script: &Path) {
    let Some(interpreter) = interpreter(script).filter(|path| !is_shown(view, path)) else {
        return;
    };
    let environment = install_folder(home, interpreter.parent().unwrap_or(&interpreter));
    if let Some(environment) = environment {
        show(view, &environment);
        let settings = fs::read_to_string(environment.join("pyvenv.cfg")).unwrap_or_default();
        let base = settings.lines().find_map(|line| line.strip_prefix("home = "));
        if let Some(base) = base.and_then(|base| install_folder(home, Path::new(base.trim()))) {
            show(view, &base);
        }
    }
    if let Ok(real) = interpreter.canonicalize()
        && !is_shown(view, &real)
    {
        let shown = package_folder(home, &real).unwrap_or(real);
        show(view, &shown);
    }
}

/// Returns the interpreter that the first line of a script names by its path.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(script).ok()?.take(FIRST_LINE_BYTES).read_to_end(&mut start).ok()?;
    let line = start.split(|byte| *byte == b'\n').next()?.strip_prefix(b"#!")?;
    let path = std::str::from_utf8(line).ok()?.split_whitespace().next()?;
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

/// Returns the folder of an installation whose programs are in `programs`; `None` if that is not to
/// be shown as a whole.
fn install_folder(home: &Path, programs: &Path) -> Option<PathBuf> {
    if let Some(tool) = tool_folder(home, programs) {
        return Some(tool);
    }
    let is_programs = programs.file_name().is_some_and(|name| {
        ["bin", "condabin", "sbin", "shims"].iter().any(|known| name == *known)
    });
    let parent = programs.parent().filter(|_| is_programs)?;
    let has = |name: &str| parent.join(name).exists();
    let is_installation = ["lib", "libexec", "pyvenv.cfg", "share"].into_iter().any(has);
    (is_installation && !is_broad(home, parent)).then(|| parent.to_owned())
}

/// Returns the folder of the package that a program belongs to; `None` if only the program itself is
/// to be shown.
fn package_folder(home: &Path, program: &Path) -> Option<PathBuf> {
    let parent = program.parent()?;
    let found = modules_folder(program).or_else(|| install_folder(home, parent));
    Some(found.unwrap_or_else(|| parent.to_owned())).filter(|found| !is_broad(home, found))
}

/// Returns the folder of a version manager or an installer that a path is in.
fn tool_folder(home: &Path, path: &Path) -> Option<PathBuf> {
    TOOL_FOLDERS.iter().map(|tool| home.join(tool)).find(|tool| path.starts_with(tool))
}

/// Returns the outermost folder of npm packages that a path is in.
fn modules_folder(path: &Path) -> Option<PathBuf> {
    path.ancestors().filter(|above| above.ends_with("node_modules")).last().map(Path::to_owned)
}

/// Returns whether a folder is the home, contains it, or holds much that a command must not see.
fn is_broad(home: &Path, folder: &Path) -> bool {
    home.starts_with(folder) || BROAD_FOLDERS.iter().any(|broad| home.join(broad) == *folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn file(home: &Path, path: &str, text: &str) -> PathBuf {
        let path = home.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    /// Returns the paths in the home that are shown.
    fn shown(home: &Path, folders: &[&str]) -> Vec<String> {
        let mut view = StrictSandbox::default();
        view.mounts.insert(home.to_owned(), SandboxMount::Private);
        let path = std::env::join_paths(folders.iter().map(|folder| home.join(folder)));
        show_toolchains(&mut view, home, &path.expect("a path"));
        let inside = |path: &PathBuf| Some(path.strip_prefix(home).ok()?.display().to_string());
        view.mounts.keys().filter_map(inside).filter(|path| !path.is_empty()).collect()
    }

    #[test]
    fn home_view_shows_toolchains_and_what_links_lead_to() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path().canonicalize().expect("a path");
        file(&home, ".cargo/bin/cargo", "");
        file(&home, ".cargo/credentials.toml", "token");
        file(&home, ".rustup/toolchains/stable/bin/cargo", "");
        file(&home, ".nvm/versions/node/v24/bin/node", "");
        file(&home, "tools/node/bin/npm", "");
        file(&home, "tools/node/lib/x", "");
        let agent = file(&home, ".local/share/claude/versions/2", "");
        let script = file(
            &home,
            ".local/share/pipx/venvs/black/bin/black",
            &format!("#!{}/.local/share/pipx/venvs/black/bin/python\n", home.display()),
        );
        file(&home, ".local/lib/python3/x.py", "");
        file(&home, ".local/share/keyrings/login", "secret");
        let package = file(&home, "src/node_modules/agent/cli.js", "#!/usr/bin/env node\n");
        fs::create_dir_all(home.join(".local/bin")).expect("made");
        for (target, name) in [(agent, "claude"), (script, "black"), (package, "agent")] {
            symlink(target, home.join(".local/bin").join(name)).expect("linked");
        }
        let folders = [".cargo/bin", ".nvm/versions/node/v24/bin", ".local/bin", "tools/node/bin"];
        assert_eq!(
            shown(&home, &folders),
            [
                ".cargo/bin",
                ".local/bin",
                ".local/lib",
                ".local/share/claude",
                ".local/share/pipx",
                ".nvm",
                ".rustup",
                "src/node_modules",
                "tools/node",
            ]
        );
    }

    #[test]
    fn home_view_shows_package_of_named_program_but_not_folder_of_script() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path().canonicalize().expect("a path");
        file(&home, "src/node_modules/agent/lib.js", "");
        let package = file(&home, "src/node_modules/agent/cli.js", "");
        let script = file(&home, "work/agent.sh", "");
        file(&home, "work/private.txt", "private");
        symlink(&package, home.join("agent")).expect("linked");
        let mut view = StrictSandbox::default();
        view.mounts.insert(home.clone(), SandboxMount::Private);
        for named in [home.join("agent"), script.clone()] {
            show_named_file(&mut view, &home, &named);
        }
        view.mounts.remove(&home);
        let modules = home.join("src/node_modules");
        let expected = [
            (home.join("agent"), SandboxMount::Link(package)),
            (modules, SandboxMount::ReadOnly),
            (script, SandboxMount::ReadOnly),
        ];
        assert_eq!(view.mounts, expected.into());
    }

    #[test]
    fn home_view_never_shows_home_itself() {
        let home = tempfile::tempdir().expect("a folder");
        let home = home.path().canonicalize().expect("a path");
        file(&home, "bin/tool", "");
        file(&home, "lib/x", "");
        file(&home, ".ssh/id", "secret");
        fs::create_dir_all(home.join(".local/bin")).expect("made");
        symlink(file(&home, "run.sh", ""), home.join(".local/bin/run")).expect("linked");
        assert_eq!(shown(&home, &["", "bin", ".local/bin"]), [".local/bin", "bin", "run.sh"]);
    }
}
