//! Starts a command with bubblewrap, the program `bwrap`.
//!
//! The process tree is: this process, `bwrap`, `bwrap` as the first process of the pid namespace,
//! and the command. When either `bwrap` ends, or the thread that started the first one, the kernel
//! kills everything in the namespace.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_process::process_table::{self, ProcessIdentity};
use adjutant_run_files::sandbox_spec::{SandboxMount, SandboxNetwork, StrictSandbox};
use rustix::fs::MemfdFlags;
use rustix::io::{FdFlags, fcntl_setfd};

use super::run_cgroup::RunCgroup;
use super::stage::{STAGE_COMMAND, STAGE_READY, StageInstructions};
use super::strict_view::system_view;
use super::{SandboxedCommand, StartedCommand};
use crate::agent::program::find_program;
use crate::network::sandbox_proxy::PROXY_FOLDER;
use crate::network::{SandboxProxy, proxy_variables};

/// The program, which is looked for in `PATH`.
const PROGRAM: &str = "bwrap";

/// How much of an error message is read.
const MESSAGE_BYTES_MAX: u64 = 4 << 10;

/// Returns the arguments of `bwrap` that describe the sandbox, up to the command.
pub fn bubblewrap_arguments(view: &StrictSandbox, folder: &Path) -> Vec<OsString> {
    let mut arguments = BwrapArguments::default();
    // No process inside gets a capability, and none can make a user namespace to get one.
    arguments.add(["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]);
    arguments.add(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    if !view.network.is_open() {
        arguments.add(["--unshare-net"]);
    }
    // A session of its own: a signal to its process group would reach `bwrap` as well.
    arguments.add(["--die-with-parent", "--new-session"]);
    arguments.add(["--proc", "/proc", "--dev", "/dev"]);
    for (path, mount) in &view.mounts {
        arguments.add_mount(path, mount);
    }
    for (path, _) in view.mounts.iter().filter(|(_, mount)| **mount == SandboxMount::Empty) {
        arguments.add_path("--remount-ro", path);
    }
    arguments.add(["--remount-ro", "/"]);
    arguments.add_path("--chdir", folder);
    arguments.0
}

#[derive(Default)]
struct BwrapArguments(Vec<OsString>);

impl BwrapArguments {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn add_path(&mut self, option: &str, path: &Path) {
        self.0.extend([option.into(), path.into()]);
    }

    fn add_mount(&mut self, path: &Path, mount: &SandboxMount) {
        let (option, from) = match mount {
            SandboxMount::ReadOnly => ("--ro-bind", path),
            SandboxMount::ReadOnlyFrom(from) => ("--ro-bind", from.as_path()),
            SandboxMount::Writable => ("--bind", path),
            SandboxMount::WritableFrom(from) => ("--bind", from.as_path()),
            SandboxMount::Link(to) => ("--symlink", to.as_path()),
            SandboxMount::Empty | SandboxMount::Private => {
                self.add(["--perms", "0700"]);
                return self.add_path("--tmpfs", path);
            }
        };
        self.0.extend([option.into(), from.into(), path.into()]);
    }
}

/// Starts a command, and returns when it runs or has failed to start.
pub(super) fn spawn(
    mut command: SandboxedCommand,
    view: &StrictSandbox,
) -> io::Result<StartedCommand> {
    let program = std::env::current_exe()?;
    let proxy = start_proxy(&command, view)?;
    let mut view = Cow::Borrowed(view);
    if let Some(proxy) = &proxy {
        let from = SandboxMount::ReadOnlyFrom(proxy.folder().to_owned());
        view.to_mut().mounts.insert(PROXY_FOLDER.into(), from);
        for (name, value) in proxy_variables() {
            command.environment.entry(name.into()).or_insert_with(|| value.into());
        }
    }
    let instructions = StageInstructions {
        program: command.program,
        arguments: command.arguments,
        environment: command.environment.into_iter().collect(),
        writable: view.writable_paths().map(Path::to_owned).collect(),
        forwarded_ports: proxy.as_ref().map(|proxy| proxy.ports().to_vec()),
        processes: view.limits.processes,
    };
    // In memory and not in the arguments, which every user of the machine can read.
    let file = write_instructions(&instructions)?;
    let (status, writer) = io::pipe()?;
    let cgroup = RunCgroup::create(&view.limits)?;
    let mut bwrap = bwrap_command(&view, &command.folder, &program, cgroup.as_ref())?;
    bwrap.args([keep_open(&file)?, keep_open(&writer)?]);
    bwrap.stdin(command.stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = bwrap.spawn()?;
    drop((file, writer));
    match read_status(status)? {
        Ok(()) => Ok(StartedCommand { child, proxy, cgroup }),
        Err(why) => Err(failed_start(child, &why)),
    }
}

fn start_proxy(
    command: &SandboxedCommand,
    view: &StrictSandbox,
) -> io::Result<Option<SandboxProxy>> {
    match &view.network {
        SandboxNetwork::Open | SandboxNetwork::Off => Ok(None),
        SandboxNetwork::Hosts(hosts) => {
            SandboxProxy::start(hosts, command.attempt.as_ref()).map(Some)
        }
    }
}

fn bwrap_command(
    view: &StrictSandbox,
    folder: &Path,
    program: &Path,
    cgroup: Option<&RunCgroup>,
) -> io::Result<Command> {
    let mut bwrap = match cgroup {
        // Everything that it starts is then in the group.
        Some(group) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.entrance());
            shell.arg(find_bwrap()?);
            shell
        }
        None => Command::new(find_bwrap()?),
    };
    bwrap.args(bubblewrap_arguments(view, folder)).arg("--").arg(program).arg(STAGE_COMMAND);
    // What the configuration sets is for the command alone: a library that it preloads must not
    // be loaded into `bwrap` or the stage.
    bwrap.env_clear().current_dir("/").process_group(0);
    Ok(bwrap)
}

fn find_bwrap() -> io::Result<PathBuf> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "bubblewrap (`bwrap`) is not in PATH");
    find_program(PROGRAM).ok_or_else(missing)
}

fn write_instructions(instructions: &StageInstructions) -> io::Result<File> {
    let file = rustix::fs::memfd_create("instructions", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(file);
    file.write_all(&serde_json::to_vec(instructions)?)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

/// Lets programs that are started inherit a descriptor, and returns its number.
fn keep_open(descriptor: &(impl AsFd + AsRawFd)) -> io::Result<String> {
    fcntl_setfd(descriptor, FdFlags::empty())?;
    Ok(descriptor.as_raw_fd().to_string())
}

/// Waits until the stage has become the command, or says why not. `bwrap` itself closes the pipe.
fn read_status(status: PipeReader) -> io::Result<Result<(), String>> {
    let mut text = String::new();
    status.take(MESSAGE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(match text.strip_prefix(STAGE_READY) {
        Some("") => Ok(()),
        Some(failed) => Err(failed.to_owned()),
        None => Err(text),
    })
}

fn failed_start(mut child: Child, why: &str) -> io::Error {
    let _ = child.kill();
    let mut printed = String::new();
    if let Some(stderr) = &mut child.stderr {
        let _ = stderr.take(MESSAGE_BYTES_MAX).read_to_string(&mut printed);
    }
    let _ = child.wait();
    let why = if why.is_empty() { printed.trim() } else { why };
    io::Error::other(format!("the sandbox cannot be made: {why}"))
}

/// Starts the stage with nothing to become. A success is remembered, because this takes a while.
pub(super) fn probe(program: &Path) -> io::Result<()> {
    static WORKS: AtomicBool = AtomicBool::new(false);
    if WORKS.load(Ordering::Relaxed) {
        return find_bwrap().map(drop);
    }
    let mut view = system_view();
    view.allow_reading(program);
    let ended =
        bwrap_command(&view, Path::new("/"), program, None)?.stdin(Stdio::null()).output()?;
    if !ended.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&ended.stderr).trim().to_owned()));
    }
    WORKS.store(true, Ordering::Relaxed);
    Ok(())
}

/// Returns the processes of a command below `bwrap`, the command first. Without `bwrap` itself: to
/// ask it to end is to kill them all.
pub fn processes_inside(bwrap: i32) -> Vec<ProcessIdentity> {
    let init: Vec<i32> = process_table::children(&[bwrap]).iter().map(|it| it.pid).collect();
    process_table::descendants(&init)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(mounts: &[(&str, SandboxMount)]) -> StrictSandbox {
        let mounts = mounts.iter().map(|(path, mount)| (path.into(), mount.clone())).collect();
        StrictSandbox { mounts, ..StrictSandbox::default() }
    }

    fn text(view: &StrictSandbox) -> String {
        let arguments = bubblewrap_arguments(view, Path::new("/p/w"));
        let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn bubblewrap_arguments_mount_folders_before_what_lies_in_them() {
        let made = text(&view(&[
            ("/p/.adjutant/worktrees/T", SandboxMount::Writable),
            ("/p/.adjutant", SandboxMount::Empty),
            ("/bin", SandboxMount::Link("usr/bin".into())),
            ("/usr", SandboxMount::ReadOnly),
            ("/h", SandboxMount::Private),
            ("/h/.gemini", SandboxMount::WritableFrom("/p/.adjutant/homes/g".into())),
        ]));
        let (_, mounts) = made.split_once("--dev /dev ").expect("the devices come first");
        assert_eq!(
            mounts,
            "--symlink usr/bin /bin --perms 0700 --tmpfs /h --bind /p/.adjutant/homes/g /h/.gemini \
             --perms 0700 --tmpfs /p/.adjutant \
             --bind /p/.adjutant/worktrees/T /p/.adjutant/worktrees/T --ro-bind /usr /usr \
             --remount-ro /p/.adjutant --remount-ro / --chdir /p/w"
        );
    }

    #[test]
    fn bubblewrap_arguments_separate_everything_but_network() {
        let open = text(&view(&[]));
        for option in [
            "--unshare-user --disable-userns --cap-drop ALL",
            "--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try",
            "--die-with-parent --new-session",
        ] {
            assert!(open.contains(option), "{open}");
        }
        assert!(!open.contains("--unshare-net"), "{open}");
        let closed = StrictSandbox { network: SandboxNetwork::Off, ..view(&[]) };
        assert!(text(&closed).contains("--unshare-net"));
    }
}
