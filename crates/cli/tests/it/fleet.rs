//! A fleet in use: several nodes with real daemons, agents and servers, and the faults they can
//! meet.

mod agent_diary;
mod failover_fleet;
mod fault_injector;
mod messages;
mod node;
mod node_link;
mod task_requests;

mod chaos;
mod clock_skew;
mod dead_node;
mod documented_setup;
mod draining_node;
mod failover;
mod folder_migration;
mod foreign_client;
mod frozen_node;
mod full;
mod labels;
mod nats_permissions;
mod network_partition;
mod node_agreement;
mod node_keys;
mod secrets;
mod status;
mod story;
mod stream_tampering;
mod tls_credentials;
mod two_nodes;
mod unanswered_message;
mod unreachable_servers;
mod versions;
