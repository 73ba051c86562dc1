"""Calls every tool over both transports, in every version, with the official Python client.

usage: python_client.py ADJUTANT
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

import httpx2
import mcp.client.session
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from stage import Stage

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
NEWEST = "2026-07-28"
OPERATOR = {
    "list", "show", "why", "inbox", "create", "approve", "reject", "answer", "retry", "cancel",
    "reopen", "copy", "send",
}
AGENT = {
    "task_context", "report_progress", "report_blocked", "complete", "handoff", "ask_human",
    "next_task", "aof_task_complete", "aof_task_update",
}


class Speaker:
    """An MCP client with one transport and one identity."""

    def __init__(self, stage, transport, args=(), environment=None, headers=None):
        self.stage, self.transport, self.args = stage, transport, list(args)
        self.environment, self.headers = environment or {}, headers or {}

    @asynccontextmanager
    async def streams(self):
        stage = self.stage
        if self.transport == "stdio":
            environment = {"ADJUTANT_DATA": f"{stage.home}/.adjutant", "USER": "alice"}
            server = StdioServerParameters(
                command=stage.binary, args=["mcp", *self.args], env=environment | self.environment
            )
            async with stdio_client(server) as streams:
                yield streams
        else:
            async with httpx2.AsyncClient(headers=self.headers) as http:
                async with streamable_http_client(f"{stage.url}/mcp", http_client=http) as streams:
                    yield streams[:2]

    @asynccontextmanager
    async def session(self, version):
        if version == NEWEST:
            async with Client(self.streams(), mode="auto") as client:
                assert client.protocol_version == NEWEST, client.protocol_version
                yield client
            return
        # The client always requests the newest version it knows: pretend that it is an older client.
        mcp.client.session.LATEST_HANDSHAKE_VERSION = version
        async with self.streams() as (read, write):
            async with ClientSession(read, write) as session:
                begun = await session.initialize()
                assert begun.protocol_version == version, (begun.protocol_version, version)
                yield session


def operator(stage, transport):
    return Speaker(stage, transport, headers={"Authorization": f"Bearer {stage.token}"})


def fetcher(stage, transport, name):
    headers = {"Authorization": f"Bearer {stage.token}", "Adjutant-Agent": name}
    return Speaker(stage, transport, ["--agent", name], headers=headers)


def of_run(stage, transport, run):
    headers = {"Authorization": f"Bearer {run['ADJUTANT_RUN_TOKEN']}"}
    return Speaker(stage, transport, environment=run, headers=headers)


async def call(session, name, **arguments):
    """Calls a tool that must succeed."""
    result = await session.call_tool(name, arguments)
    assert not result.is_error, (name, arguments, result)
    return result


async def refused(session, name, **arguments):
    result = await session.call_tool(name, arguments)
    assert result.is_error, (name, arguments, result)
    return result.content[0].text


async def every_operator_tool(stage, speaker, version):
    tag = f"{speaker.transport} {version}"
    reviewed, rejected = stage.in_review(f"approve {tag}"), stage.in_review(f"reject {tag}")
    blocked, stuck = (stage.add(f"{what} {tag}", "--agent", "absent") for what in ("answer", "retry"))
    for task in (blocked, stuck):
        stage.run("task", "move", task, "blocked", "--reason", "which?")
    async with speaker.session(version) as session:
        tools = (await session.list_tools()).tools
        assert {tool.name for tool in tools} == OPERATOR, tools
        made = (await call(session, "create", title=f"made {tag}", tags=["x"])).structured_content
        task = made["taskId"]
        assert made["result"] == "applied" and made["status"] == "backlog", made
        shown = (await call(session, "show", id=task)).structured_content
        assert shown["title"] == f"made {tag}" and shown["createdBy"] == "human:alice", shown
        listed = (await call(session, "list", status=["backlog"])).structured_content["tasks"]
        assert task in {one["id"] for one in listed}, listed
        why = (await call(session, "why", id=task)).structured_content
        assert why["taskId"] == task and not why["runnable"], why
        inbox = (await call(session, "inbox")).structured_content["items"]
        assert {reviewed, rejected, blocked, stuck} <= {item["taskId"] for item in inbox}, inbox
        await call(session, "approve", id=reviewed, note="good")
        await call(session, "reject", id=rejected, reason="again")
        await call(session, "answer", id=blocked, text="this one")
        await call(session, "retry", id=stuck)
        await call(session, "cancel", id=task, reason="no more")
        copied = (await call(session, "copy", id=task)).structured_content
        assert copied["result"] == "applied" and copied["taskId"] != task, copied
        reopened = (await call(session, "reopen", id=task, reason="after all")).structured_content
        assert reopened["status"] == "backlog", reopened
        await call(session, "cancel", id=task, reason="no more")
        order = {"taskId": f"{tag}", "delegatedToMode": "code", "objective": "Do it."}
        sent = (await call(session, "send", message=json.dumps(order))).structured_content
        assert sent["result"] == "applied", sent
        again = (await call(session, "send", message=json.dumps(order))).structured_content
        assert again["result"] == "noop", again
        assert "invalid_transition" in await refused(session, "approve", id=task)
        assert "invalid arguments" in await refused(session, "create", titel="x")
        resources = (await session.list_resources()).resources
        assert resources and await session.list_resource_templates()
        read = await session.read_resource(f"adjutant://tasks/{task}")
        assert f"made {tag}" in read.contents[0].text, read
    statuses = {one: stage.show(one)["status"] for one in (reviewed, rejected, blocked, stuck, task)}
    expected = ["done", "ready", "ready", "ready", "cancelled"]
    assert list(statuses.values()) == expected, statuses


async def every_agent_tool(stage, transport, version):
    tag = f"{transport} {version}"
    endings = {
        "complete": ({"summary": f"Did **{tag}**."}, "review"),
        "report_blocked": ({"blockers": ["no key"]}, "blocked"),
        "ask_human": ({"question": "Red?", "suggestion": "red"}, "blocked"),
        "aof_task_complete": ({"summary": "done"}, "review"),
    }
    runs = {name: stage.run_of(f"{name} {tag}") for name in endings}
    other = runs["complete"]["ADJUTANT_TASK_ID"]
    for name, (arguments, status) in endings.items():
        run = runs[name]
        task = run["ADJUTANT_TASK_ID"]
        async with of_run(stage, transport, run).session(version) as session:
            tools = (await session.list_tools()).tools
            assert {tool.name for tool in tools} == AGENT, tools
            order = (await call(session, "task_context")).content[0].text
            assert f"{name} {tag}" in order, order
            assert (await call(session, "next_task")).content[0].text == order
            await call(session, "report_progress", progress=f"half of {tag}")
            await call(session, "aof_task_update", taskId=task, progress="more")
            handed = {"to": "reviewer", "objective": f"Look at {task}."}
            first = (await call(session, "handoff", **handed)).content[0].text
            assert (await call(session, "handoff", **handed)).content[0].text == first
            if task != other:
                assert other in await refused(session, "aof_task_update", taskId=other, progress="x")
                uri = f"adjutant://tasks/{other}"
                try:
                    await session.read_resource(uri)
                    raise SystemExit(f"{uri} can be read by the run of {task}")
                except mcp.MCPError:
                    pass
            read = await session.read_resource(f"adjutant://tasks/{task}")
            assert f"half of {tag}" in read.contents[0].text, read
            # A repeated call, as after a client timeout, is harmless.
            for _ in range(2):
                await call(session, name, **arguments)
        assert stage.show(task)["status"] == status, (name, stage.show(task))


async def fetched_work(stage, transport, version):
    name = f"remote-{transport}-{version}"
    task = stage.add(f"fetch {name}", "--agent", name, "--status", "ready")
    async with fetcher(stage, transport, name).session(version) as session:
        assert "next_task" in await refused(session, "task_context")
        order = (await call(session, "next_task")).content[0].text
        assert f"fetch {name}" in order, order
        assert (await call(session, "next_task")).content[0].text == order
        await call(session, "report_progress", progress="half")
        await call(session, "complete", summary="Done.")
        assert "no task for you" in (await call(session, "next_task")).content[0].text
    assert stage.show(task)["status"] == "review"


async def main():
    with Stage(sys.argv[1]) as stage:
        for version in [*HANDSHAKES, NEWEST]:
            for transport in ("stdio", "http"):
                await every_operator_tool(stage, operator(stage, transport), version)
                await every_agent_tool(stage, transport, version)
                await fetched_work(stage, transport, version)
                print(f"{version} over {transport}: every tool", flush=True)
        stage.run("doctor")


asyncio.run(main())
