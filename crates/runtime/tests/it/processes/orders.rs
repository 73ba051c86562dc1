//! How an agent gets its work order, and what it knows of its run.

use adjutant_runtime::shim::files::ORDER;
use adjutant_runtime::shim::spec::Prompt;
use adjutant_runtime::supervisor::Exit;
use adjutant_runtime::token::Secret;

use crate::processes::support::Stage;

fn shell(stage: &Stage, script: &str, prompt: Prompt, order: &str) -> (Exit, String) {
    let mut launch = stage.launch("steps: []");
    launch.command = ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    (launch.prompt, launch.order) = (prompt, order.to_owned());
    let run = stage.begin(&launch);
    let exit = stage.end(&run).exit;
    (exit, String::from_utf8_lossy(&stage.log(&run)).into_owned())
}

#[test]
fn an_order_comes_by_standard_input_which_is_then_closed() {
    let (exit, out) = shell(&Stage::new(), "cat; echo \"$# end\"", Prompt::Stdin, "Mend it.\n");
    assert_eq!((exit, &*out), (Exit::Code(0), "Mend it.\n0 end\n"));
}

#[test]
fn an_order_comes_as_an_argument() {
    let (exit, out) = shell(&Stage::new(), "echo \"$1\"; cat", Prompt::Argument, "Mend\n'it'\0.");
    assert_eq!((exit, &*out), (Exit::Code(0), "Mend\n'it' .\n"));
}

#[test]
fn an_order_that_is_too_long_for_an_argument_comes_as_a_file() {
    let stage = Stage::new();
    let long = "x".repeat(3 << 20);
    let (exit, out) = shell(&stage, "echo \"$1\"", Prompt::Argument, &long);
    assert_eq!(exit, Exit::Code(0));
    assert!(out.starts_with("Your work order is in the file /"), "{out}");
}

#[test]
fn an_order_comes_as_a_file() {
    let (exit, out) = shell(&Stage::new(), "cat \"$1\"; cat", Prompt::File, "Mend it.\n");
    assert_eq!((exit, &*out), (Exit::Code(0), "Mend it.\n"));
}

#[test]
fn an_order_nobody_reads_holds_up_nobody() {
    let long = "x".repeat(3 << 20);
    let stage = Stage::new();
    let mut launch = stage.launch("steps: [close_stdin, {print: closed}, {work: 100ms}]");
    launch.order.clone_from(&long);
    let ended = stage.end(&stage.begin(&launch));
    assert_eq!((ended.exit, &*ended.tail), (Exit::Code(0), "closed"));
    let stage = Stage::new();
    let mut launch = stage.launch("steps: [read_stdin]");
    launch.order = long;
    assert_eq!(stage.end(&stage.begin(&launch)).tail, format!("read {} bytes", 3 << 20));
}

#[test]
fn an_agent_knows_its_run() {
    let stage = Stage::new();
    let (exit, out) = shell(&stage, "env | grep ^ADJUTANT_ | sort; pwd", Prompt::Stdin, "");
    let root = stage.root.display();
    let home = stage.root.parent().expect("a project").display();
    let run = crate::processes::support::run(1);
    let token = Secret::open(&stage.root).expect("a secret").token(&run.task, run.fence);
    let token = "*".repeat(token.len());
    let expected = format!(
        "ADJUTANT_AGENT=swe\nADJUTANT_ATTEMPT=1\nADJUTANT_DATA={root}\n\
         ADJUTANT_RUN_DIR={root}/runs/TASK-2026-02-09-001\nADJUTANT_RUN_TOKEN={token}\n\
         ADJUTANT_TASK_ID=TASK-2026-02-09-001\n{home}\n"
    );
    assert_eq!((exit, out), (Exit::Code(0), expected));
    let order = std::fs::read(stage.folder(&run).join(ORDER)).expect("it is kept");
    assert_eq!(order, b"");
}
