"""Validates the OpenAPI document with openapi-spec-validator, generates a client from it with
openapi-python-client, and manages a task with that client.

usage: generated_client.py ADJUTANT OPENAPI_PYTHON_CLIENT
"""

import json
import subprocess
import sys
import urllib.request

from openapi_spec_validator import validate

from stage import PATIENCE, Stage

# An agent that reports at once.
SETTINGS = """
[agents.reporter]
kind = "script"
script = "reporter.yaml"
"""
SCRIPT = "steps: [{report: {outcome: done, notes: Finished.}}]\n"


def read_document(stage):
    with urllib.request.urlopen(f"{stage.url}/v1/openapi.json") as answer:
        return json.load(answer)


def generate_client(stage, document):
    """Generates the package `adjutant_client` in the folder of the project."""
    with open(f"{stage.home}/openapi.json", "w") as file:
        json.dump(document, file)
    with open(f"{stage.home}/generator.json", "w") as file:
        # The generated code need not be formatted.
        json.dump({"post_hooks": []}, file)
    command = [
        sys.argv[2], "generate", "--path", "openapi.json", "--config", "generator.json",
        "--meta", "none", "--output-path", "adjutant_client",
        # The generator leaves out an operation that it warns about.
        "--fail-on-warning",
    ]
    subprocess.run(command, cwd=stage.home, check=True)
    sys.path.insert(0, stage.home)


def manage_task(stage):
    from adjutant_client import AuthenticatedClient
    from adjutant_client.api.events import list_events, stream
    from adjutant_client.api.tasks import approve, create, list_tasks, show_task
    from adjutant_client.models import Event, NewTask, Note, Priority, Problem, Start, Status

    client = AuthenticatedClient(
        base_url=stage.url, token=stage.token, timeout=PATIENCE, raise_on_unexpected_status=True
    )

    def follow(task, after, status):
        """Reads the event stream until the task gets a status; returns the last event id."""
        request = stream._get_kwargs(after=after, task=task, type_=["task.transitioned"])
        with client.get_httpx_client().stream(**request) as response:
            assert response.status_code == 200, response
            for line in response.iter_lines():
                if line.startswith("data: "):
                    event = Event.from_dict(json.loads(line.removeprefix("data: ")))
                    assert event.task_id == task and event.event_id > after, event
                    if event.payload["to"] == status:
                        return event.event_id

    # Create.
    assert list_tasks.sync(client=client) == []
    other = create.sync(client=client, body=NewTask(title="Another task"))
    body = NewTask(
        title="Generated", body="By a *client*.", agent="reporter", priority=Priority.HIGH,
        status=Start.READY, tags=[],
    )
    made = create.sync(client=client, body=body)
    assert (made.title, made.priority, made.created_by) == ("Generated", "high", "human:alice"), made

    # Follow until the agent has reported.
    last = follow(made.id, 0, "review")

    # List and filter.
    assert [task.id for task in list_tasks.sync(client=client)] == [other.id, made.id]
    in_review = list_tasks.sync(client=client, status=[Status.REVIEW], agent="reporter")
    assert [task.id for task in in_review] == [made.id], in_review
    assert list_tasks.sync(client=client, text="another")[0].id == other.id
    assert list_tasks.sync(client=client, status=[Status.DONE]) == []

    # Approve.
    approved = approve.sync(made.id, client=client, body=Note(note="Good."))
    assert approved.id == made.id, approved
    follow(made.id, last, "done")
    shown = show_task.sync(made.id, client=client)
    assert shown.status == Status.DONE and "By a *client*." in shown.body, shown
    events = list_events.sync(client=client, task=made.id, type_=["task"])
    assert events[0].type_ == "task.created", events

    # A refusal is a typed problem.
    refused = approve.sync_detailed(made.id, client=client, body=Note())
    assert refused.status_code == 409 and isinstance(refused.parsed, Problem), refused
    assert refused.parsed.code == "invalid_transition", refused


def main():
    with Stage(sys.argv[1], SETTINGS) as stage:
        with open(f"{stage.home}/reporter.yaml", "w") as file:
            file.write(SCRIPT)
        document = read_document(stage)
        validate(document)
        generate_client(stage, document)
        manage_task(stage)
    print("openapi: validated, and used by a generated client")


main()
