//! The names that agents give to the tools of MCP servers.

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerTool {
    pub(crate) server: String,
    pub(crate) tool: String,
}

impl ServerTool {
    /// Parses the name of a tool. Only our own server is recognised in every form: in some, the end
    /// of another server's name cannot be told from the start of the tool's.
    pub(crate) fn parse(name: &str, own_server: &str) -> Option<Self> {
        let new = |server: &str, tool: &str| {
            let is_word = |word: &str| {
                let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "_-".contains(sign);
                !word.is_empty() && word.chars().all(is_sign)
            };
            let tool = tool.trim();
            (is_word(server) && is_word(tool))
                .then(|| Self { server: server.to_owned(), tool: tool.to_owned() })
        };
        let name = name.trim();
        if let Some((tool, server)) =
            name.strip_suffix(" MCP Server)").and_then(|name| name.split_once(" ("))
        {
            return new(server, tool);
        }
        if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|it| it.split_once("__"))
        {
            return new(server, tool);
        }
        let rest = ["mcp_", "mcp.", "mcp:", ""]
            .iter()
            .find_map(|start| name.strip_prefix(start)?.strip_prefix(own_server))?;
        let separators = ["__", "_", ".", "/", ": ", ":"];
        let tool = separators.iter().find_map(|separator| rest.strip_prefix(separator))?;
        new(own_server, tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_of_own_server_is_recognised_in_every_form() {
        for name in [
            "mcp__adjutant__complete",
            "mcp_adjutant_complete",
            "mcp_adjutant.complete",
            "mcp.adjutant.complete",
            "adjutant_complete",
            "adjutant__complete",
            "adjutant/complete",
            "adjutant: complete",
            "complete (adjutant MCP Server)",
        ] {
            let expected = ServerTool { server: "adjutant".into(), tool: "complete".into() };
            assert_eq!(ServerTool::parse(name, "adjutant"), Some(expected), "{name}");
        }
    }

    #[test]
    fn tool_of_another_server_and_other_texts_are_not_ours() {
        let server = |name: &str| ServerTool::parse(name, "adjutant").map(|tool| tool.server);
        assert_eq!(server("mcp__jira__search").as_deref(), Some("jira"));
        assert_eq!(server("search (jira MCP Server)").as_deref(), Some("jira"));
        for name in [
            "adjutant",
            "adjutant complete",
            "adjutant: rm -r /",
            "adjutantx_complete",
            "Write adjutant_complete",
            "mcp__adjutant__",
            "rm; (adjutant MCP Server)",
            "",
        ] {
            assert_eq!(server(name), None, "{name}");
        }
    }
}
