//! Changes of the configuration under a running daemon: what takes effect at once, and what needs a
//! restart.

use std::sync::{Arc, PoisonError, RwLock};

use super::{Config, Scheduler};

/// The configuration in effect, shared with the threads that read it.
#[derive(Debug, Clone)]
pub struct SharedConfig(Arc<RwLock<Arc<Config>>>);

impl SharedConfig {
    pub fn new(config: Config) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(config))))
    }

    pub fn get(&self) -> Arc<Config> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn set(&self, config: Config) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }
}

impl Config {
    /// Returns the settings that a running daemon works by when the file says `new`, and the names
    /// of the changed settings that need a restart, which keep their values.
    #[must_use]
    pub fn with_changes(&self, new: &Self) -> (Self, Vec<&'static str>) {
        let now = self;
        let changed = [
            ("store", now.store != new.store),
            ("[nats]", now.nats != new.nats),
            ("[server]", now.server != new.server),
            ("[log]", now.log != new.log),
            ("[otlp]", now.otlp != new.otlp),
            ("[[notify]]", now.notify != new.notify),
            ("poll in [scheduler]", now.scheduler.poll != new.scheduler.poll),
            (
                "heartbeat_ttl in [scheduler]",
                now.scheduler.heartbeat_ttl != new.scheduler.heartbeat_ttl,
            ),
        ];
        let in_effect = Self {
            protocol: new.protocol.clone(),
            scheduler: Scheduler {
                poll: now.scheduler.poll,
                heartbeat_ttl: now.scheduler.heartbeat_ttl,
                ..new.scheduler.clone()
            },
            project: new.project.clone(),
            agents: new.agents.clone(),
            ..now.clone()
        };
        let restart = changed.into_iter().filter(|(_, differs)| *differs);
        (in_effect, restart.map(|(name, _)| name).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        Config::read(text, [].into_iter()).expect("it is valid")
    }

    #[test]
    fn config_change_applies_agents_checks_and_limits_at_once() {
        let new = read(
            "[scheduler]\nconcurrency = 9\n[project]\nchecks = [\"make\"]\n\
             [agents.a]\nkind = \"claude\"\n",
        );
        let (config, restart) = Config::default().with_changes(&new);
        assert_eq!((config, restart), (new, vec![]));
    }

    #[test]
    fn config_change_of_server_needs_restart() {
        let old = read("[server]\nlisten = \"off\"\n");
        let new = read(
            "[server]\nlisten = \"127.0.0.1:1\"\n[scheduler]\npoll = \"1s\"\nconcurrency = 9\n",
        );
        let (config, restart) = old.with_changes(&new);
        assert_eq!(restart, ["[server]", "poll in [scheduler]"]);
        assert_eq!(config.server, old.server);
        assert_eq!(config.scheduler, Scheduler { concurrency: 9, ..old.scheduler });
    }
}
