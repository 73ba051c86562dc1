"""Calls every tool over both transports with the command line of the MCP inspector.

usage: inspector.py ADJUTANT NODE INSPECTOR
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from stage import Stage


def inspect(stage, transport, environment, headers, *args):
    """Calls the inspector once, and returns the server's answer."""
    command = [sys.argv[2], sys.argv[3], "--cli"]
    if transport == "stdio":
        environment = {"ADJUTANT_DATA": f"{stage.home}/.adjutant"} | environment
        for key, value in environment.items():
            command += ["-e", f"{key}={value}"]
        command += [stage.binary, "mcp"]
    else:
        command += [f"{stage.url}/mcp", "--transport", "http"]
        for key, value in headers.items():
            command += ["--header", f"{key}: {value}"]
    done = subprocess.run(
        command + list(args), cwd=stage.home, env=stage.environment, capture_output=True, text=True,
        timeout=120,
    )
    assert done.returncode == 0, (command, args, done)
    return json.loads(done.stdout)


def tool(stage, transport, environment, headers, name, **arguments):
    args = ["--method", "tools/call", "--tool-name", name]
    for key, value in arguments.items():
        args += ["--tool-arg", f"{key}={value}"]
    result = inspect(stage, transport, environment, headers, *args)
    assert not result.get("isError"), (name, result)
    return result


def operator(stage, transport):
    """Returns calls of the operator's tools, each on a task with the right status."""
    headers = {"Authorization": f"Bearer {stage.token}"}
    tag = transport
    blocked, stuck, spare = (stage.add(f"{what} {tag}", "--agent", "absent") for what in ("answer", "retry", "cancel"))
    for task in (blocked, stuck):
        stage.run("task", "move", task, "blocked", "--reason", "which?")
    dropped = stage.add(f"reopen {tag}")
    stage.run("task", "cancel", dropped)
    return [
        (transport, {}, headers, name, arguments)
        for name, arguments in [
            ("create", {"title": f"made {tag}"}),
            ("list", {}),
            ("show", {"id": spare}),
            ("why", {"id": spare}),
            ("inbox", {}),
            ("approve", {"id": stage.in_review(f"approve {tag}")}),
            ("reject", {"id": stage.in_review(f"reject {tag}"), "reason": "again"}),
            ("answer", {"id": blocked, "text": "this one"}),
            ("retry", {"id": stuck}),
            ("cancel", {"id": spare, "reason": "no"}),
            ("reopen", {"id": dropped, "reason": "after all"}),
            ("copy", {"id": stuck}),
            ("send", {"message": "hello"}),
        ]
    ]


def agent(stage, transport):
    """Returns calls of the agent's tools, each with a run of its own."""
    calls = []
    for name, arguments in [
        ("task_context", {}),
        ("next_task", {}),
        ("report_progress", {"progress": "half"}),
        ("aof_task_update", {"progress": "half"}),
        ("handoff", {"to": "reviewer", "objective": "Look."}),
        ("report_blocked", {"blockers": '["no key"]'}),
        ("ask_human", {"question": "Red?"}),
        ("complete", {"summary": "Done."}),
        ("aof_task_complete", {"summary": "Done."}),
    ]:
        run = stage.run_of(f"{name} {transport}")
        headers = {"Authorization": f"Bearer {run['ADJUTANT_RUN_TOKEN']}"}
        calls.append((transport, run, headers, name, arguments))
    return calls


def main():
    with Stage(sys.argv[1]) as stage:
        calls = []
        for transport in ("stdio", "http"):
            calls += operator(stage, transport) + agent(stage, transport)
        with ThreadPoolExecutor(4) as pool:
            one = lambda call: tool(stage, *call[:4], **call[4])  # noqa: E731
            list(pool.map(one, calls))
        for transport in ("stdio", "http"):
            headers = {"Authorization": f"Bearer {stage.token}"}
            for method, key in [("tools/list", "tools"), ("resources/list", "resources")]:
                listed = inspect(stage, transport, {}, headers, "--method", method)
                assert listed[key], listed
        print(f"{len(calls)} tools called, over stdio and http")


main()
