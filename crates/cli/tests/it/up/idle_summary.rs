//! The summary that `up --until-idle` ends with.

use serde_json::json;

use crate::up::project::DaemonProject;

#[test]
fn until_idle_ends_with_summary_of_done_waiting_and_held_tasks() {
    let stage = DaemonProject::new("").with_command("dev", "adjutant report done\n", "");
    let earlier = stage.add("dev");
    stage.until_idle();
    let done = stage.add("dev");
    let add = |title: &str, agent: &str| {
        let words = ["task", "add", title, "--agent", agent, "--status", "ready"];
        stage.json(&words)["id"].as_str().expect("an id").to_owned()
    };
    let (review, held) = (add("Look at it", "dev"), add("Fix it", "fixer"));
    let mut up = stage.up_with(&["--until-idle"]);
    while up.is_running() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let printed = up.printed_documents();
    let idle = printed.iter().find_map(|document| document.get("idle")).expect("a summary");
    assert_eq!(idle["done"], json!([done]), "and not {earlier}, which was done before");
    let waiting = &idle["waiting"];
    assert_eq!(waiting.as_array().map(Vec::len), Some(1), "{waiting}");
    assert_eq!((&waiting[0]["kind"], &waiting[0]["taskId"]), (&json!("review"), &json!(review)));
    let reason = "No agent named \"fixer\" is configured; add [agents.fixer] to adjutant.toml, or route \
         the task to one that is (`adjutant task edit ID --agent NAME`): dev; an \
         agent that runs elsewhere can fetch it with `adjutant mcp --agent fixer`.";
    let expected = json!([{"taskId": held, "code": "no_agent", "text": reason}]);
    assert_eq!(idle["cannotRun"], expected);
    let text = stage.run_ok(["up", "--until-idle"]);
    let summary = format!(
        "no task can run any more: 0 done, 1 waiting for you, 1 cannot run\n\
         waiting for you (`adjutant inbox` lists what you can do):\n  \
         {review}  review: Look at it: reported by dev, waits for review\n\
         cannot run:\n  {held}  Fix it: {reason}\n"
    );
    assert!(text.ends_with(&summary), "{text}");
}
