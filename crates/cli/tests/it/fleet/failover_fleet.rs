//! Three nodes: one leads, one is about to die, and one takes over its work.

use adjutant_testkit::cluster::SharedCluster;

use crate::fleet::agent_diary::AgentDiary;
use crate::fleet::node::{Node, prefix, until};

const SETTINGS: &str = "[scheduler]\nheartbeat_ttl = \"4s\"\ngrace = \"300ms\"\npoll = \"1s\"\n\
                        backoff = \"1ms\"\n";
const AGENT: &str = "[agents.swe]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"sh\", \"agent.sh\"]\nslots = 2\n";

/// Three nodes, of which `heir` is not up yet.
pub(crate) struct FailoverFleet {
    pub(crate) decides: Node,
    pub(crate) dies: Node,
    pub(crate) heir: Node,
    pub(crate) diary: AgentDiary,
    _servers: SharedCluster,
}

impl FailoverFleet {
    /// Gives every node the agent script, and configures the agent on all nodes but the leader.
    pub(crate) fn with_agent(script: &str) -> Self {
        let (servers, prefix, diary) = (SharedCluster::join(), prefix("estate"), AgentDiary::new());
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

    /// Makes a task for the agent, and returns its id.
    pub(crate) fn add(&self, title: &str) -> String {
        let task =
            self.decides.does(&["task", "add", title, "--status", "ready", "--agent", "swe"]);
        task["id"].as_str().expect("an id").to_owned()
    }
}
