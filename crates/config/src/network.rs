//! `network`: which hosts an agent may connect to.

use adjutant_core::network::{AllowedHost, HostRules};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which hosts an agent may connect to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(try_from = "NetworkSetting")]
#[schemars(with = "NetworkSetting")]
pub enum NetworkAccess {
    /// It may connect to every host.
    #[default]
    Open,
    /// It may connect to no host.
    Off,
    /// It may connect to these hosts.
    Hosts(Vec<AllowedHost>),
}

/// `"open"`, `"off"`, or a list of hosts as `host` or `host:port`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"open\", \"off\" or a list of hosts")]
enum NetworkSetting {
    Word(NetworkWord),
    /// A host without a port means its ports 443 and 80.
    Hosts(Vec<String>),
}

/// Every host, or none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum NetworkWord {
    /// It may connect to every host.
    Open,
    /// It may connect to no host.
    Off,
}

impl NetworkAccess {
    /// Returns the hosts of a list; `None` if there is no list.
    pub fn host_rules(&self) -> Option<HostRules> {
        match self {
            Self::Open | Self::Off => None,
            Self::Hosts(hosts) => Some(HostRules::new(hosts.clone())),
        }
    }
}

impl TryFrom<NetworkSetting> for NetworkAccess {
    type Error = String;

    fn try_from(setting: NetworkSetting) -> Result<Self, String> {
        Ok(match setting {
            NetworkSetting::Word(NetworkWord::Open) => Self::Open,
            NetworkSetting::Word(NetworkWord::Off) => Self::Off,
            NetworkSetting::Hosts(hosts) => {
                let parse = |text: &String| AllowedHost::parse(text);
                Self::Hosts(hosts.iter().map(parse).collect::<Result<_, String>>()?)
            }
        })
    }
}
