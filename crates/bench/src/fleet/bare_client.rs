//! Measures the bare NATS client, with the same bytes and the same acknowledgement.

use std::future::Future;
use std::time::{Duration, Instant};

use adjutant_replication::nats::FleetOptions;
use async_nats::ServerAddr;
use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Config;
use futures_util::future::join_all;

/// Publishes the same commits one after the other; each expects the sequence of the previous one.
pub(super) fn publish_commits(address: &str, name: &str, commits: &[String]) -> Duration {
    with_stream(address, name, async |streams| {
        let first = publish_first(&streams, name).await;
        let start = Instant::now();
        for (last, commit) in (first..).zip(commits) {
            let message = PublishMessage::build()
                .payload(commit.clone().into())
                .message_id(format!("{name}-{last}"))
                .expected_last_sequence(last);
            publish(&streams, name, message).await;
        }
        start.elapsed()
    })
}

/// Publishes messages of one length from several senders; each waits for its last acknowledgement.
pub(super) fn publish_messages(
    address: &str,
    name: &str,
    senders: usize,
    messages: usize,
    bytes: usize,
) -> Duration {
    with_stream(address, name, async |streams| {
        publish_first(&streams, name).await;
        let start = Instant::now();
        let sender = async |sender: usize| {
            for number in (sender..messages).step_by(senders) {
                let message = PublishMessage::build()
                    .payload(vec![b'x'; bytes].into())
                    .message_id(format!("{name}-{number}"));
                publish(&streams, name, message).await;
            }
        };
        join_all((0..senders).map(sender)).await;
        start.elapsed()
    })
}

/// Publishes a first message and returns its sequence. Retries, because a new stream may not be
/// known to all servers yet.
async fn publish_first(streams: &Context, name: &str) -> u64 {
    for _ in 0..100 {
        let sent = streams.send_publish(name.to_owned(), PublishMessage::build()).await;
        if let Ok(taken) = sent.expect("it is sent").await {
            return taken.sequence;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("there is no subscriber for {name}");
}

async fn publish(streams: &Context, name: &str, message: PublishMessage) {
    let sent = streams.send_publish(name.to_owned(), message).await.expect("it is sent");
    sent.await.expect("it is acknowledged");
}

/// Runs `work` with a new stream named `name`.
fn with_stream<F: Future<Output = Duration>>(
    address: &str,
    name: &str,
    work: impl FnOnce(Context) -> F,
) -> Duration {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let connect = async_nats::ConnectOptions::new();
        let connect = connect.user_and_password("fleet".into(), "fleet".into());
        let options = FleetOptions::parse(address).expect("a good address");
        let servers: Vec<ServerAddr> =
            options.servers.iter().map(|server| server.parse().expect("an address")).collect();
        let client = connect.connect(servers).await.expect("the servers can be reached");
        let streams = async_nats::jetstream::new(client);
        let subjects = vec![name.to_owned()];
        let config = Config { name: name.into(), subjects, num_replicas: 3, ..Config::default() };
        streams.create_stream(config).await.expect("a stream");
        work(streams).await
    })
}
