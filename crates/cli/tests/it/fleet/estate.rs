//! Three nodes: one decides, one is about to die, and one is its heir.

use adjutant_testkit::cluster::Shared;

use crate::fleet::diary::Diary;
use crate::fleet::node::{Node, prefix, until};

const SETTINGS: &str = "[scheduler]\nheartbeat_ttl = \"4s\"\ngrace = \"300ms\"\npoll = \"1s\"\n\
                        backoff = \"1ms\"\n";
const AGENT: &str =
    "[agents.swe]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\nslots = 2\n";

/// Three nodes, of which the heir is not up yet.
pub(crate) struct Estate {
    pub(crate) decides: Node,
    pub(crate) dies: Node,
    pub(crate) heir: Node,
    pub(crate) diary: Diary,
    _servers: Shared,
}

impl Estate {
    /// Has an agent on all but the one that decides, which does this.
    pub(crate) fn whose_agent(script: &str) -> Self {
        let (servers, prefix, diary) = (Shared::join(), prefix("estate"), Diary::new());
        let node = |name: &str, settings: &str| {
            let node = Node::new(name, &servers.address(), &prefix, settings);
            diary.agent(&node, script);
            node
        };
        let mut decides = node("decides", SETTINGS);
        let mut dies = node("dies", &format!("{SETTINGS}{AGENT}"));
        let heir = node("heir", &format!("{SETTINGS}{AGENT}"));
        decides.up();
        until("it decides", || decides.does(&["fleet", "status"])["decider"] == "decides");
        dies.up();
        Self { decides, dies, heir, diary, _servers: servers }
    }

    /// Makes a task for the agent.
    pub(crate) fn add(&self, title: &str) -> String {
        let task =
            self.decides.does(&["task", "add", title, "--status", "ready", "--agent", "swe"]);
        task["id"].as_str().expect("an id").to_owned()
    }
}
