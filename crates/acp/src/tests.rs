//! Golden files of a whole conversation: the messages sent to the agent, and the lines reported.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use adjutant_model::permission::{ChoiceKind, PermissionChoice, RequestedAction, ToolKind};
use adjutant_test_support::assert_every_variant;
use adjutant_test_support::golden::GoldenFolder;
use parking_lot::Mutex;
use serde_json::json;

use crate::report_writer::ReportWriter;
use crate::{
    AcpError, AcpRunOptions, McpHttpEndpoint, McpServerSpec, PermissionHandler, PreviousSession,
    StopFlag, ToolPermissionRequest, run,
};

/// An agent that writes down its input, asks for a permission, and sends a few updates.
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

/// Selects the first choice.
struct FirstChoice;

impl PermissionHandler for FirstChoice {
    fn answer(&self, request: &ToolPermissionRequest, _: &StopFlag) -> Option<String> {
        request.choices.first().map(|choice| choice.id.clone())
    }
}

#[derive(Clone, Default)]
struct CapturedLines(Arc<Mutex<Vec<u8>>>);

impl CapturedLines {
    fn text(&self) -> String {
        let bytes = self.0.lock();
        String::from_utf8(bytes.clone()).expect("text")
    }
}

impl Write for CapturedLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn order(folder: &Path, initialized: &str, past: Option<&str>) -> AcpRunOptions {
    let script = format!("INITIALIZED='{initialized}' PAST={}\n{AGENT}", past.unwrap_or_default());
    AcpRunOptions {
        command: vec!["sh".into(), "-c".into(), script],
        folder: folder.to_owned(),
        prompt: "Do \"it\".\n".into(),
        server: McpServerSpec {
            name: "adjutant".into(),
            program: "/bin/adjutant".into(),
            args: vec!["mcp".into()],
            env: vec![("ADJUTANT_ATTEMPT".into(), "2".into())],
            http: Some(McpHttpEndpoint {
                url: "http://127.0.0.1:8080/mcp".into(),
                headers: vec![("authorization".into(), "Bearer t".into())],
            }),
        },
        resume: past.map(|_| PreviousSession {
            session: "s-0".into(),
            restart_prompt: "Do it anew.\n".into(),
        }),
        request_timeout: Duration::from_secs(30),
        cancel_timeout: Duration::from_secs(5),
    }
}

/// Replaces the temporary folder, the version of this program, and generated ids.
fn mask(text: &str, folder: &Path) -> String {
    let real = folder.canonicalize().expect("a folder");
    let text = text.replace(&real.display().to_string(), "/p");
    let text = text.replace(&folder.display().to_string(), "/p");
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let text = text.replace(&version, "\"version\":\"<version>\"");
    text.lines().map(|line| mask_request_id(line) + "\n").collect()
}

/// Requests have generated ids; answers repeat the ids of the agent's requests.
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

fn record_conversation(
    golden: &mut GoldenFolder,
    name: &str,
    initialized: &str,
    past: Option<&str>,
) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (sheet, permissions) =
        (CapturedLines::default(), Arc::new(FirstChoice) as Arc<dyn PermissionHandler>);
    let talked =
        run(&order(folder.path(), initialized, past), &permissions, Box::new(sheet.clone()));
    assert_eq!(talked, Ok(()), "{}", sheet.text());
    let sent = std::fs::read_to_string(folder.path().join("sent.jsonl")).expect("what was sent");
    golden.add(format!("{name}/sent.jsonl"), mask(&sent, folder.path()));
    golden.add(format!("{name}/told.jsonl"), mask(&sheet.text(), folder.path()));
}

/// Returns every kind of line that can be reported, including those the fake agent does not cause.
fn every_line() -> String {
    let sheet = CapturedLines::default();
    let report_writer = ReportWriter::new(Box::new(sheet.clone()));
    let choice = |kind| PermissionChoice { id: "c-1".into(), name: "C".into(), kind };
    let request = ToolPermissionRequest {
        actions: vec![RequestedAction { tool: ToolKind::Execute, ..RequestedAction::default() }],
        names_its_call: true,
        text: "make".into(),
        choices: vec![],
    };
    report_writer.write_agent(None, None);
    report_writer.write_agent(Some("fake"), Some("1.2"));
    report_writer.write_session("s-1", false);
    report_writer.write_session("s-1", true);
    report_writer.write_session_lost("no such session");
    report_writer.write_http_fallback("no stdio");
    report_writer.write_update(&json!({"sessionUpdate": "plan", "entries": []}));
    report_writer.write_permission(&request, Some(&choice(ChoiceKind::AllowOnce)));
    report_writer.write_permission(&request, Some(&choice(ChoiceKind::RejectOnce)));
    report_writer.write_permission(&request, None);
    report_writer.write_usage(&json!({"inputTokens": 3}));
    report_writer.write_end("end_turn");
    for trouble in every_trouble() {
        report_writer.write_error(&trouble);
    }
    report_writer.write_raw("a line that is no message");
    report_writer.write_log("a line of its log");
    report_writer.write_log("{\"looks\": \"like ours\"}");
    sheet.text()
}

fn every_trouble() -> Vec<AcpError> {
    let all = vec![
        AcpError::NotStarted("fake".into(), "no such file".into()),
        AcpError::TimedOut("initialize", 30),
        AcpError::SignInRequired("run `fake login`".into()),
        AcpError::Refused("session/new", "no room".into()),
        AcpError::Disconnected("session/prompt", "ended with code 1".into()),
        AcpError::TooLong(16),
        AcpError::TurnCutShort("it refused to go on"),
        AcpError::Stopped,
    ];
    assert_every_variant!(
        &all,
        AcpError {
            NotStarted,
            TimedOut,
            SignInRequired,
            Refused,
            Disconnected,
            TooLong,
            TurnCutShort,
            Stopped
        }
    );
    all
}

#[test]
fn acp_lines_match_golden_files() {
    let mut golden = GoldenFolder::new("ipc/acp");
    record_conversation(&mut golden, "new-session", CAN_NOTHING, None);
    record_conversation(&mut golden, "resumed-session", CAN_LOAD, Some("there"));
    record_conversation(&mut golden, "lost-session", CAN_LOAD, Some("gone"));
    golden.add("every-line.jsonl", every_line());
    golden.check();
}
