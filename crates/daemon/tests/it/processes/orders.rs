//! How an agent gets its work order, and what it is told about its run.

use adjutant_run_files::attempt_files::ORDER;
use adjutant_run_files::shim_spec::OrderDelivery;
use adjutant_runs::supervisor::ProcessExit;

use crate::processes::support::RunFixture;

fn shell(
    stage: &RunFixture,
    script: &str,
    prompt: OrderDelivery,
    order: &str,
) -> (ProcessExit, String) {
    let mut launch = stage.launch("steps: []");
    launch.command = ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    (launch.prompt, launch.order) = (prompt, order.to_owned());
    let run = stage.start_launch(&launch);
    let exit = stage.wait_for_end(&run).exit;
    (exit, String::from_utf8_lossy(&stage.log(&run)).into_owned())
}

#[test]
fn work_order_arrives_on_stdin_which_is_then_closed() {
    let (exit, out) =
        shell(&RunFixture::new(), "cat; echo \"$# end\"", OrderDelivery::Stdin, "Mend it.\n");
    assert_eq!((exit, &*out), (ProcessExit::Code(0), "Mend it.\n0 end\n"));
}

#[test]
fn work_order_arrives_as_an_argument() {
    let (exit, out) =
        shell(&RunFixture::new(), "echo \"$1\"; cat", OrderDelivery::Argument, "Mend\n'it'\0.");
    assert_eq!((exit, &*out), (ProcessExit::Code(0), "Mend\n'it' .\n"));
}

#[test]
fn work_order_too_long_for_an_argument_arrives_as_a_file() {
    let stage = RunFixture::new();
    let long = "x".repeat(3 << 20);
    let (exit, out) = shell(&stage, "echo \"$1\"", OrderDelivery::Argument, &long);
    assert_eq!(exit, ProcessExit::Code(0));
    assert!(out.starts_with("Your work order is in the file /"), "{out}");
}

#[test]
fn work_order_arrives_as_a_file() {
    let (exit, out) =
        shell(&RunFixture::new(), "cat \"$1\"; cat", OrderDelivery::File, "Mend it.\n");
    assert_eq!((exit, &*out), (ProcessExit::Code(0), "Mend it.\n"));
}

#[test]
fn work_order_that_is_not_read_blocks_nothing() {
    let long = "x".repeat(3 << 20);
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: [close_stdin, {print: closed}, {work: 100ms}]");
    launch.order.clone_from(&long);
    let ended = stage.wait_for_end(&stage.start_launch(&launch));
    assert_eq!((ended.exit, &*ended.tail), (ProcessExit::Code(0), "closed"));
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: [read_stdin]");
    launch.order = long;
    assert_eq!(
        stage.wait_for_end(&stage.start_launch(&launch)).tail,
        format!("read {} bytes", 3 << 20)
    );
}

#[test]
fn agent_environment_names_its_run() {
    let stage = RunFixture::new();
    let (exit, out) = shell(&stage, "env | grep ^ADJUTANT_ | sort; pwd", OrderDelivery::Stdin, "");
    let root = stage.root.display();
    let home = stage.root.parent().expect("a project").display();
    let run = crate::processes::support::run(1);
    let expected = format!(
        "ADJUTANT_AGENT=swe\nADJUTANT_ATTEMPT=1\nADJUTANT_DATA={root}\n\
         ADJUTANT_RUN_DIR={root}/runs/TASK-2026-02-09-001\n\
         ADJUTANT_RUN_SOCKET={root}/runs/TASK-2026-02-09-001/attempts/1/socket/run.sock\n\
         ADJUTANT_RUN_TOKEN=****\n\
         ADJUTANT_TASK_ID=TASK-2026-02-09-001\n{home}\n"
    );
    assert_eq!((exit, out), (ProcessExit::Code(0), expected));
    let order = std::fs::read(stage.folder(&run).join(ORDER)).expect("it is kept");
    assert_eq!(order, b"");
}
