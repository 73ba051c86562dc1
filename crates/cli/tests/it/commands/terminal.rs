//! Output on a terminal, which `script` provides.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use adjutant_model::Status;

use crate::commands::support::{CliOutput, CliProject, adjutant, run, task_text, until};

/// Runs the command on its own terminal, and returns what it printed there.
fn on_terminal(project: &CliProject, args: &str, environment: &[(&str, &str)]) -> CliOutput {
    let mut command = on_its_own_terminal(project, args, environment, "");
    let mut ran = run(command.stdin(Stdio::null()));
    ran.out = ran.out.replace("\r\n", "\n");
    ran
}

/// Returns the command for its own terminal; the shell words `before` run there first.
fn on_its_own_terminal(
    project: &CliProject,
    args: &str,
    environment: &[(&str, &str)],
    before: &str,
) -> Command {
    let words = format!("{before}{} {args}", env!("CARGO_BIN_EXE_adjutant"));
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &words, "/dev/null"]);
    let own = adjutant();
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(project.home()).envs(environment.iter().copied());
    command
}

fn listed() -> CliProject {
    let project = CliProject::new();
    project.add([
        "Build the users API with every one of its many routes",
        "--agent",
        "swe-backend",
    ]);
    project.add([
        "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
        "--status",
        "ready",
    ]);
    project
}

#[test]
fn task_list_fits_terminal_width() {
    let project = listed();
    for (columns, expected) in [
        (
            "40",
            "TASK              TITLE\n\
             TASK-<today>-001  Build the users AP…\n\
             TASK-<today>-002  漢字漢字漢字漢字漢…\n",
        ),
        (
            "80",
            "TASK              STATUS   PRIORITY  AGENT        TITLE\n\
             TASK-<today>-001  backlog  normal    swe-backend  Build the users API with e…\n\
             TASK-<today>-002  ready    normal    -            漢字漢字漢字漢字漢字漢字漢…\n",
        ),
        (
            "200",
            "TASK              STATUS   PRIORITY  AGENT        TITLE\n\
             TASK-<today>-001  backlog  normal    swe-backend  Build the users API with every one \
             of its many routes\n\
             TASK-<today>-002  ready    normal    -            漢字漢字漢字漢字漢字漢字漢字漢字漢字\
             漢字漢字漢字漢字漢字漢字\n",
        ),
    ] {
        let ran = on_terminal(&project, "task list", &[("COLUMNS", columns), ("NO_COLOR", "1")]);
        let heading = expected.replace("TASK              ", "TASK                 ");
        assert_eq!((ran.code, project.masked_text(&ran.out)), (0, heading), "{columns}");
    }
}

#[test]
fn columns_variable_counts_only_on_terminal() {
    let project = listed();
    let ran = run(project.command(["task", "list"]).env("COLUMNS", "40"));
    assert!(ran.out.contains("with every one of its many routes"), "{}", ran.out);
}

#[test]
fn colour_is_used_only_on_terminals_that_want_it() {
    let project = listed();
    let coloured = |args: &str, environment: &[(&str, &str)]| {
        on_terminal(&project, args, environment).out.contains('\u{1b}')
    };
    for args in ["task list", "events"] {
        assert!(coloured(args, &[]), "{args}");
        assert!(!coloured(args, &[("NO_COLOR", "1")]), "{args}");
        assert!(!coloured(args, &[("TERM", "dumb")]), "{args}");
        assert!(!coloured(&format!("{args} --json"), &[]), "{args}");
    }
    assert!(coloured("task list", &[("NO_COLOR", "")]), "an empty NO_COLOR says nothing");
    for args in [&["task", "list"][..], &["events"]] {
        assert!(!project.does(args).contains('\u{1b}'), "{args:?}");
    }
}

/// The cursor erases what changes in place; the lines that stay fit the terminal.
#[test]
fn demo_is_drawn_live_and_fits_terminal_width() {
    let project = CliProject::new();
    let ran = on_terminal(&project, "demo", &[("COLUMNS", "70"), ("NO_COLOR", "1")]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains(" of 4 running"), "{}", ran.out);
    let drawn = ran.out.split("\u{1b}[J").map(|part| part.rsplit_once('\u{1b}'));
    let stays: String = drawn.map(|part| part.map_or("", |(text, _)| text)).collect();
    let story = stays.lines().filter(|line| line.contains("s  swe-") || line.contains("s  sched"));
    let widest = story.map(unicode_width::UnicodeWidthStr::width).max();
    assert!(widest.is_some_and(|widest| widest <= 70), "{widest:?}: {stays}");
    let colours = ["2m", "31m", "32m", "33m", "34m"];
    let coloured = colours.iter().any(|code| ran.out.contains(&format!("\u{1b}[{code}")));
    assert!(!coloured, "no colour where none is wanted");
    let dumb = on_terminal(&project, "demo", &[("TERM", "dumb")]);
    assert!(!dumb.out.contains('\u{1b}'), "{}", dumb.out);
}

#[test]
fn events_fit_terminal_width() {
    let project = listed();
    for columns in [40, 80, 200] {
        let width = columns.to_string();
        let ran = on_terminal(&project, "events", &[("COLUMNS", &width), ("NO_COLOR", "1")]);
        let widest = ran.out.lines().map(unicode_width::UnicodeWidthStr::width).max();
        assert!(widest.is_some_and(|widest| widest <= columns), "{columns}: {}", ran.out);
    }
}

/// Escape sequences and control characters, as an attacker could put them into a file.
const HOSTILE: &str = "\\e[2J\\e]0;owned\\a\\x9b31m\\u202egnp.exe\\b\\b\\x7f";

#[test]
fn control_characters_of_files_never_reach_terminal() {
    let project = CliProject::new();
    let id = "TASK-2026-02-09-001";
    let text = task_text(
        id,
        Status::Ready,
        &format!("\"k{HOSTILE}\": \"v{HOSTILE}\"\nrouting:\n  agent: swe\n"),
    );
    let text = text.replace(&format!("title: Task {id}"), &format!("title: \"t{HOSTILE}\""));
    let text = text.replace("Do it.", "body \u{1b}[2J \u{9b}31m \u{202e}\u{7} end");
    project.write(&format!("tasks/ready/{id}.md"), text);
    project.write("tasks/ready/\u{1b}[2Jstray", "");
    project.write(
        &format!("runs/{id}/attempts/1/output.log"),
        "\u{1b}[2Jprinted \u{9b}31m\u{202e}\u{7}\r\n\u{1b}]0;owned\u{7}",
    );
    let logs = format!("logs {id}");
    for args in ["task list", &format!("task show {id}"), "events", "doctor", &logs] {
        let ran = on_terminal(&project, args, &[("NO_COLOR", "1")]);
        let raw = |c: char| {
            (c.is_control() && !matches!(c, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(&c)
        };
        assert!(!ran.out.contains(raw), "{args}: {:?}", ran.out);
        assert!(ran.out.contains('\u{fffd}'), "{args}: {:?}", ran.out);
    }
}

#[test]
fn task_edit_opens_editor() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    let edit = |editor: &str| {
        on_terminal(&project, &format!("task edit {id}"), &[("EDITOR", editor), ("NO_COLOR", "1")])
    };
    let ran = edit("sed -i s/one/uno/");
    assert_eq!((ran.code, ran.out), (0, format!("{id} backlog\n")));
    assert_eq!(project.json(["task", "show", &id])["title"], "uno");
    assert_eq!(project.types(), ["task.created", "task.edited"]);
    let ran = edit("true");
    assert_eq!((ran.code, ran.out), (0, format!("{id} backlog (unchanged)\n")));
    let ran = edit("false");
    let err = "error: the editor false failed\n  caused by: it ended with exit status: 1\n";
    assert_eq!((ran.code, &*ran.out), (3, err));
    let ran = edit("no-such-editor");
    assert_eq!(ran.code, 3);
    assert!(ran.out.starts_with("error: cannot start the editor no-such-editor\n"), "{ran:?}");
}

#[test]
fn task_edit_reports_file_broken_in_editor() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    let environment = [("VISUAL", "sed -i s/normal/urgent/"), ("NO_COLOR", "1")];
    let ran = on_terminal(&project, &format!("task edit {id}"), &environment);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with(&format!("error: cannot use the edited file of {id}\n")),
        "{ran:?}"
    );
    let mended = [("VISUAL", "sed -i s/urgent/high/"), ("NO_COLOR", "1")];
    let ran = on_terminal(&project, &format!("task edit {id}"), &mended);
    assert_eq!(ran.code, 0, "a broken file can be edited as well: {ran:?}");
}

#[test]
fn top_approves_and_rejects_reviews() {
    let project = CliProject::new();
    let [first, second] = ["One", "Two"].map(|title| project.add([title, "--status", "ready"]));
    for id in [&first, &second] {
        project.does(["task", "move", id, "in-progress"]);
        project.does(["task", "move", id, "review"]);
    }
    let mut command =
        on_its_own_terminal(&project, "top", &[("TERM", "xterm")], "stty cols 98 rows 24 && ");
    let mut top = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut screen = top.stdout.take().expect("it has an output");
    let mut keys = top.stdin.take().expect("it has an input");
    let shown = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&shown);
    let reader = std::thread::spawn(move || {
        let mut some = [0; 4096];
        while let Ok(read @ 1..) = screen.read(&mut some) {
            seen.lock().expect("nobody panics").extend_from_slice(&some[..read]);
        }
    });
    // Keys typed before the board reads the terminal would be lost.
    until("the board is drawn", || {
        shown.lock().expect("nobody panics").windows(5).any(|part| part == b"Inbox")
    });
    // `a` approves the first; the second is then the only one, and `r` rejects it.
    keys.write_all(b"arshorter\rq").expect("keys can be typed");
    until("it leaves when it is told to", || top.try_wait().expect("it can be seen").is_some());
    reader.join().expect("the screen is read");
    assert_eq!([&first, &second].map(|id| project.status_of(id)), ["done", "ready"]);
}

#[test]
fn top_needs_terminal() {
    let ran = CliProject::new().adjutant(["top"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("`adjutant top` needs a terminal"), "{}", ran.err);
}
