//! Edits of `adjutant.toml` by commands. Everything else stays as a person wrote it.

use adjutant_core::network::AllowedHost;
use toml_edit::{Array, DocumentMut, Item, Value};

/// Returns the text with a host added to the list of an agent, or why there is no such list.
pub fn allow_host(text: &str, agent: &str, host: &AllowedHost) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|_| "adjutant.toml cannot be read".to_owned())?;
    let settings = document.get_mut("agents").and_then(|agents| agents.get_mut(agent));
    let settings = settings.and_then(Item::as_table_like_mut);
    let settings = settings.ok_or_else(|| format!("adjutant.toml has no agent named {agent:?}"))?;
    match settings.get_mut("network").and_then(Item::as_value_mut) {
        Some(Value::Array(hosts)) => add_host(hosts, host),
        Some(network) if network.as_str() == Some("off") => {
            let mut hosts = Array::new();
            add_host(&mut hosts, host);
            let decor = network.decor().clone();
            *network = Value::Array(hosts);
            *network.decor_mut() = decor;
        }
        Some(_) | None => return Err(format!("agent {agent} may connect to every host")),
    }
    Ok(document.to_string())
}

/// Adds a host that the list does not have, in whatever form.
fn add_host(hosts: &mut Array, host: &AllowedHost) {
    let is_same = |entry: &Value| {
        entry.as_str().and_then(|text| AllowedHost::parse(text).ok()).as_ref() == Some(host)
    };
    if !hosts.iter().any(is_same) {
        hosts.push(host.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow(text: &str, host: &str) -> Result<String, String> {
        allow_host(text, "a", &AllowedHost::parse(host).expect("a host"))
    }

    #[test]
    fn host_is_added_and_everything_else_is_kept() {
        let text = "# mine\n[agents.a]   # the first\nkind = 'claude'\n\
                    network = [ \"One.example\" ] # few\n\n[agents.b]\nnetwork = []\n";
        let added = allow(text, "two.example:8443").expect("added");
        assert_eq!(
            added,
            "# mine\n[agents.a]   # the first\nkind = 'claude'\n\
             network = [ \"One.example\" , \"two.example:8443\"] # few\n\n[agents.b]\nnetwork = []\n"
        );
        assert_eq!(allow(&added, "TWO.example.:8443"), Ok(added.clone()), "it is there already");
        assert_eq!(allow(&added, "one.example"), Ok(added));
        let off = "[agents.a]\nnetwork = \"off\" # none\n";
        assert_eq!(
            allow(off, "one.example"),
            Ok("[agents.a]\nnetwork = [\"one.example\"] # none\n".to_owned())
        );
        let inline = "agents = { a = { network = [] } }\n";
        assert_eq!(
            allow(inline, "one.example"),
            Ok("agents = { a = { network = [\"one.example\"] } }\n".to_owned())
        );
    }

    #[test]
    fn agent_without_list_is_refused() {
        for text in ["[agents.a]\nkind = \"claude\"\n", "[agents.a]\nnetwork = \"open\"\n"] {
            assert_eq!(allow(text, "x.example"), Err("agent a may connect to every host".into()));
        }
        let none = Err("adjutant.toml has no agent named \"a\"".to_owned());
        assert_eq!(allow("[agents.b]\nnetwork = []\n", "x.example"), none);
        assert!(allow("[", "x.example").is_err());
    }
}
