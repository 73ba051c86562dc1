"""Reads our telemetry with independent code: `/metrics` with the parsers of `prometheus_client`,
and OTLP with the messages of `opentelemetry-proto`.

usage: figures.py ADJUTANT
"""

import base64
import json
import re
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from stage import PATIENCE, Stage

MESSAGES = {"/v1/logs": ExportLogsServiceRequest, "/v1/traces": ExportTraceServiceRequest}

# A reason with characters that must be escaped.
REASON = 'a "quoted" reason\\ with a\nline break'


class Collector(ThreadingHTTPServer):
    """An OTLP collector that stores every request."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Taker)
        self.taken = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Taker(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.taken.append((self.path, self.headers["content-type"], body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def official(path, body):
    """Parses a request into the official message; an unknown field is an error.

    OTLP writes ids in hex, and protobuf JSON in base64. All other fields are protobuf JSON."""

    def as_base64(found):
        return f'"{found[1]}":"{base64.b64encode(bytes.fromhex(found[2])).decode()}"'

    text = re.sub(r'"(traceId|spanId)":"([0-9a-f]+)"', as_base64, body.decode())
    return json_format.Parse(text, MESSAGES[path]())


def attributes(of):
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in of.attributes}


def until(what, is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.05)


def check_otlp(stage, collector):
    def parsed(path):
        return [official(path, body) for at, _, body in list(collector.taken) if at == path]

    def logs():
        scopes = (scope for post in parsed("/v1/logs") for of in post.resource_logs
                  for scope in of.scope_logs)
        return [record for scope in scopes for record in scope.log_records]

    def spans():
        scopes = (scope for post in parsed("/v1/traces") for of in post.resource_spans
                  for scope in of.scope_spans)
        return [span for scope in scopes for span in scope.spans]

    def events():
        return [json.loads(line) for line in stage.run("events", "--json").splitlines()]

    def heard():
        return {attributes(record)["adjutant.event"] for record in logs()}

    until("the collector has heard the last event", lambda: events()[-1]["eventId"] in heard())
    until("the collector has heard of the run", lambda: spans())
    record = {event["eventId"]: event for event in events()}
    for told in logs():
        said, event = attributes(told), record[attributes(told)["adjutant.event"]]
        assert told.body.string_value == event["type"], (told, event)
        assert said["adjutant.actor"] == event["actor"], (told, event)
        assert said.get("adjutant.task") == event.get("taskId"), (told, event)
        assert 1 <= told.severity_number <= 24 and told.time_unix_nano > 0, told
    (span,) = spans()
    assert len(span.trace_id) == 16 and len(span.span_id) == 8, span
    assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
    assert span.name == "run worker" and attributes(span)["adjutant.attempt"] == 1, span
    kinds = {kind for _, kind, _ in collector.taken}
    assert kinds == {"application/json"}, kinds


def last_event(stage):
    return json.loads(stage.run("events", "--json").splitlines()[-1])["eventId"]


def metrics(stage):
    request = urllib.request.Request(
        f"{stage.url}/metrics", headers={"Authorization": f"Bearer {stage.token}"}
    )
    with urllib.request.urlopen(request) as answer:
        return answer.headers["content-type"], answer.read().decode()


def check_metrics(stage):
    # The metrics follow the event log with a short delay.
    until("the notice is counted", lambda: "adjutant_notifications_total" in metrics(stage)[1])
    before = last_event(stage)
    kind, text = metrics(stage)
    assert kind.startswith("application/openmetrics-text; version=1.0.0"), kind
    families = {family.name: family for family in openmetrics(text)}
    assert any(True for _ in prometheus(text)), "the parser of the older format reads it too"
    for name, family in families.items():
        assert family.documentation and family.type != "unknown", family
        assert name.startswith("adjutant_"), name

    def value(family, sample, **labels):
        found = [one.value for one in families[family].samples
                 if one.name == sample and labels.items() <= one.labels.items()]
        assert len(found) == 1, (family, sample, labels, families[family].samples)
        return found[0]

    counts = stage.json("status")["counts"]
    for status, count in counts.items():
        assert value("adjutant_tasks", "adjutant_tasks", status=status) == count, status
    last = value("adjutant_last_event", "adjutant_last_event")
    assert before <= last <= last_event(stage), last
    rejected = "adjutant_messages_total"
    assert value("adjutant_messages", rejected, result="rejected", reason="task_not_found") == 1
    assert value("adjutant_runs", "adjutant_runs_total", outcome="blocked") == 1
    assert value("adjutant_commit_seconds", "adjutant_commit_seconds_count") > 0
    assert value("adjutant_ticks", "adjutant_ticks_total") > 0
    told = "adjutant_notifications_total"
    assert value("adjutant_notifications", told, rule="console", result="sent") == 1
    for named in ("adjutant_queue_age_seconds", "adjutant_stream_clients", "adjutant_runs_open",
                  "adjutant_lease_expiries"):
        assert named in families, (named, sorted(families))


def envelope(kind, task, payload):
    return json.dumps({
        "protocol": "aof", "version": 1, "type": kind, "taskId": task, "fromAgent": "worker",
        "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": {"taskId": task} | payload,
    })


def post(stage, message):
    request = urllib.request.Request(
        f"{stage.url}/v1/messages", data=message.encode(),
        headers={"Authorization": f"Bearer {stage.token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def main():
    collector = Collector()
    settings = f'[otlp]\nendpoint = "http://127.0.0.1:{collector.server_port}"\n'
    settings += '[[notify]]\non = ["blocked"]\ntarget = "console"\n'
    with Stage(sys.argv[1], settings) as stage:
        run = stage.run_of("one that is blocked")
        task = run["ADJUTANT_TASK_ID"]
        said = {"outcome": "blocked", "summaryRef": "outputs/summary.md", "deliverables": [],
                "tests": {"total": 0, "passed": 0, "failed": 0}, "blockers": [REASON],
                "notes": REASON}
        answer = post(stage, envelope("completion.report", task, said))
        assert answer["result"] == "applied", answer
        lost = envelope("status.update", "TASK-2026-02-09-057",
                        {"agentId": "worker", "progress": "half way"})
        answer = post(stage, lost)
        assert (answer["result"], answer["reason"]) == ("rejected", "task_not_found"), answer
        for kind in ("run.exited", "notify.sent"):
            until(kind, lambda: f'"{kind}"' in stage.run("events", "--json"))
        check_metrics(stage)
        check_otlp(stage, collector)
    collector.shutdown()
    print("figures: read by prometheus_client and opentelemetry-proto")


main()
