//! Golden files of both sides of a conversation: what the agent is sent, and what is told of it.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adjutant_core::permit::{Choice, ChoiceKind, ToolKind};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;
use serde_json::json;

use crate::tell::Teller;
use crate::{Desk, Http, Order, Past, Server, Stopped, Trouble, Wish, run};

/// An agent that keeps what it is sent, asks for a permission, and says a few things.
const AGENT: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"%s"}}\n' "$id" "$1"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":%s}}\n' "$1"; }
ask() { printf '{"jsonrpc":"2.0","id":"q-1","method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"t-1","title":"make","kind":"execute"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}\n'; }
while IFS= read -r line; do
  printf '%s\n' "$line" >> sent.jsonl
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) answer "$INITIALIZED";;
    *'"method":"session/new"'*) answer '{"sessionId":"s-1"}';;
    *'"method":"session/load"'*|*'"method":"session/resume"'*) if [ "$PAST" = gone ]; then refuse 'no such session'; else answer '{}'; fi;;
    *'"method":"session/prompt"'*)
      prompt=$id
      update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."}}'
      update '{"sessionUpdate":"tool_call","toolCallId":"t-1","title":"make","kind":"execute","rawInput":{"command":"make"}}'
      ask;;
    *'"id":"q-1"'*)
      id=$prompt
      update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Done."}}'
      answer '{"stopReason":"end_turn"}';;
  esac
done
"#;

const CAN_LOAD: &str = r#"{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true}},"agentInfo":{"name":"fake","version":"1.2"},"authMethods":[]}"#;
const CAN_NOTHING: &str = r#"{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}"#;

/// Takes the first choice.
struct FirstChoice;

impl Desk for FirstChoice {
    fn answer(&self, wish: &Wish, _: &Stopped) -> Option<String> {
        wish.choices.first().map(|choice| choice.id.clone())
    }
}

#[derive(Clone, Default)]
struct Sheet(Arc<Mutex<Vec<u8>>>);

impl Sheet {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(bytes.clone()).expect("text")
    }
}

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn order(folder: &Path, initialized: &str, past: Option<&str>) -> Order {
    let script = format!("INITIALIZED='{initialized}' PAST={}\n{AGENT}", past.unwrap_or_default());
    Order {
        command: vec!["sh".into(), "-c".into(), script],
        folder: folder.to_owned(),
        prompt: "Do \"it\".\n".into(),
        server: Server {
            name: "adjutant".into(),
            program: "/bin/adjutant".into(),
            args: vec!["mcp".into()],
            env: vec![("ADJUTANT_ATTEMPT".into(), "2".into())],
            http: Some(Http {
                url: "http://127.0.0.1:8080/mcp".into(),
                headers: vec![("authorization".into(), "Bearer t".into())],
            }),
        },
        past: past.map(|_| Past { session: "s-0".into(), anew: "Do it anew.\n".into() }),
        patience: Duration::from_secs(30),
        grace: Duration::from_secs(5),
    }
}

/// Replaces the temporary folder, the version of this program, and ids that are made up.
fn mask(text: &str, folder: &Path) -> String {
    let real = folder.canonicalize().expect("a folder");
    let text = text.replace(&real.display().to_string(), "/p");
    let text = text.replace(&folder.display().to_string(), "/p");
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let text = text.replace(&version, "\"version\":\"<version>\"");
    text.lines().map(|line| mask_request_id(line) + "\n").collect()
}

/// Requests have ids that are made up; answers repeat those of the agent.
fn mask_request_id(line: &str) -> String {
    const ID: &str = "\"id\":\"";
    match (line.contains("\"method\""), line.split_once(ID)) {
        (true, Some((before, after))) => {
            let (_, rest) = after.split_once('"').expect("an id ends");
            format!("{before}{ID}<id>\"{rest}")
        }
        _ => line.to_owned(),
    }
}

fn talk(golden: &mut GoldenFolder, name: &str, initialized: &str, past: Option<&str>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (sheet, desk) = (Sheet::default(), Arc::new(FirstChoice) as Arc<dyn Desk>);
    let talked = run(&order(folder.path(), initialized, past), &desk, Box::new(sheet.clone()));
    assert_eq!(talked, Ok(()), "{}", sheet.text());
    let sent = std::fs::read_to_string(folder.path().join("sent.jsonl")).expect("what was sent");
    golden.add(format!("{name}/sent.jsonl"), mask(&sent, folder.path()));
    golden.add(format!("{name}/told.jsonl"), mask(&sheet.text(), folder.path()));
}

/// Every line that is told of a conversation, also those no agent here brings about.
fn every_line() -> String {
    let sheet = Sheet::default();
    let teller = Teller::new(Box::new(sheet.clone()));
    let choice = |kind| Choice { id: "c-1".into(), name: "C".into(), kind };
    let wish = Wish {
        tool: ToolKind::Execute,
        title: "make".into(),
        text: "make".into(),
        choices: vec![],
    };
    teller.agent(None, None);
    teller.agent(Some("fake"), Some("1.2"));
    teller.session("s-1", false);
    teller.session("s-1", true);
    teller.anew("no such session");
    teller.by_http("no stdio");
    teller.update(&json!({"sessionUpdate": "plan", "entries": []}));
    teller.permission(&wish, Some(&choice(ChoiceKind::AllowOnce)));
    teller.permission(&wish, Some(&choice(ChoiceKind::RejectOnce)));
    teller.permission(&wish, None);
    teller.usage(&json!({"inputTokens": 3}));
    teller.end("end_turn");
    for trouble in every_trouble() {
        teller.trouble(&trouble);
    }
    teller.noise("a line that is no message");
    teller.log("a line of its log");
    teller.log("{\"looks\": \"like ours\"}");
    sheet.text()
}

fn every_trouble() -> Vec<Trouble> {
    let all = vec![
        Trouble::NotStarted("fake".into(), "no such file".into()),
        Trouble::Silent("initialize", 30),
        Trouble::SignIn("run `fake login`".into()),
        Trouble::Refused("session/new", "no room".into()),
        Trouble::Gone("session/prompt", "ended with code 1".into()),
        Trouble::TooLong(16),
        Trouble::Cut("it refused to go on"),
        Trouble::Stopped,
    ];
    assert_every_variant!(
        &all,
        Trouble { NotStarted, Silent, SignIn, Refused, Gone, TooLong, Cut, Stopped }
    );
    all
}

#[test]
fn acp_lines_match_golden_files() {
    let mut golden = GoldenFolder::new("ipc/acp");
    talk(&mut golden, "new-session", CAN_NOTHING, None);
    talk(&mut golden, "resumed-session", CAN_LOAD, Some("there"));
    talk(&mut golden, "lost-session", CAN_LOAD, Some("gone"));
    golden.add("every-line.jsonl", every_line());
    golden.check();
}
