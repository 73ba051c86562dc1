"""A scripted ACP agent: its one argument selects the behaviour.

It uses the official Python package; the misbehaving variants write the protocol by hand.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request

PART = sys.argv[1]


def note(name, text):
    with open(name + ".new", "w") as file:
        file.write(text)
    os.rename(name + ".new", name)


note("pid", str(os.getpid()))


def send(message):
    sys.stdout.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
    sys.stdout.flush()


def by_hand():
    """Answers `initialize`, and then violates the protocol."""
    hello = json.loads(sys.stdin.readline())
    if PART == "hang":
        time.sleep(3600)
    if PART == "garbage":
        for _ in range(3):
            print("Welcome! \x1b[1mnot\x1b[0m a message {", flush=True)
            print("[1, 2]", flush=True)
            print('{"neither": "this"}', flush=True)
        sys.exit(4)
    if PART == "version":
        send({"id": hello["id"], "result": {"protocolVersion": 7, "agentCapabilities": {}}})
        time.sleep(3600)
    if PART == "huge":
        sys.stdout.write('{"x":"' + "x" * (33 << 20) + '"}\n')
        sys.stdout.flush()
        time.sleep(3600)


if PART in ("hang", "garbage", "version", "huge"):
    by_hand()

# Importing takes seconds on a busy machine. The dots keep the agent from looking idle meanwhile.
imported = threading.Event()


def print_dots():
    while not imported.wait(0.2):
        print(".", file=sys.stderr, flush=True)


threading.Thread(target=print_dots, daemon=True).start()

import acp
from acp import schema

imported.set()


class Server:
    """A client of the MCP server that the session names as a command (stdio)."""

    def __init__(self, given):
        env = dict(os.environ, **{one.name: one.value for one in given.env})
        self.process = subprocess.Popen([given.command, *given.args], env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                 "clientInfo": {"name": "scripted", "version": "1"}})
        self.write({"method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
        self.process.stdin.flush()

    def call(self, method, params):
        self.write({"id": 1, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())


class Called:
    """A client of the MCP server that the session names by its URL (HTTP)."""

    def __init__(self, given):
        self.url = given.url
        self.headers = {one.name: one.value for one in given.headers}
        self.headers.update({"content-type": "application/json",
                             "accept": "application/json, text/event-stream"})
        self.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                 "clientInfo": {"name": "scripted", "version": "1"}})

    def call(self, method, params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(self.url, json.dumps(message).encode(), self.headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())


def times(name):
    """Returns how often it was called with this name, over all runs."""
    with open(name, "a") as file:
        file.write("x")
    return os.path.getsize(name)


class Scripted(acp.Agent):
    def on_connect(self, conn):
        self.conn = conn
        self.cancelled = asyncio.Event()

    async def initialize(self, protocol_version, client_capabilities=None, **_):
        note("offered", client_capabilities.model_dump_json(exclude_defaults=True))
        capabilities = schema.AgentCapabilities(
            load_session=PART in ("killed", "forgets", "lost"),
            mcp_capabilities=schema.McpCapabilities(http=PART in ("http", "neither")))
        info = schema.Implementation(name="scripted", version="1.2.3")
        return schema.InitializeResponse(protocol_version=acp.PROTOCOL_VERSION,
                                         agent_capabilities=capabilities, agent_info=info)

    async def new_session(self, cwd, mcp_servers=None, **_):
        if PART == "auth":
            raise acp.RequestError.auth_required({"details": "run `scripted login` first"})
        if PART in ("http", "refuses") and isinstance(mcp_servers[0], schema.McpServerStdio):
            raise acp.RequestError.invalid_params({"details": "stdio servers are not allowed"})
        if PART == "neither":
            raise acp.RequestError.invalid_params({"details": "no servers are allowed"})
        self.servers = mcp_servers
        return schema.NewSessionResponse(session_id="session-%d" % times("begun_anew"))

    async def load_session(self, cwd, session_id, mcp_servers=None, **_):
        self.servers = mcp_servers
        await self.say(session_id, "This was said before.")
        if PART == "forgets":
            raise acp.RequestError.resource_not_found(session_id)
        note("loaded", session_id)
        return schema.LoadSessionResponse()

    async def say(self, session, text):
        await self.conn.session_update(session_id=session, update=acp.update_agent_message_text(text))

    async def ask(self, session, command):
        call = schema.ToolCallUpdate(tool_call_id="call-1")
        if PART == "kimi":
            # As Kimi Code does: the command is in a text.
            await self.conn.session_update(session_id=session, update=acp.start_tool_call(
                "call-1", "Bash", kind="execute"))
            text = "Requesting approval to Running: cd . && " + command
            call.title = "Bash"
            call.content = [acp.tool_content(acp.text_block(text))]
        elif PART == "hidden":
            # As OpenHands does: the request shows nothing.
            call.title = "Confirm Agent Actions"
        elif PART == "announced":
            # As OpenHands does: the request is about the calls that it has announced.
            await self.conn.session_update(session_id=session, update=acp.start_tool_call(
                "call-0", "terminal", kind="execute", status="in_progress",
                raw_input={"command": command}))
            call.title = "Confirm Agent Actions"
        elif PART == "forged":
            # The request shows nothing, while a call of our own tool is announced.
            await self.conn.session_update(session_id=session, update=acp.start_tool_call(
                "call-0", "mcp__adjutant__complete", kind="other", status="in_progress"))
            call.title = "Confirm Agent Actions"
        elif PART == "own-tool":
            # As Qwen Code does: the name of the tool is beside the title, which has its input.
            call.title, call.kind = '{"summary":"did it"}', "other"
            call.raw_input = {"summary": "did it"}
            call.field_meta = {"toolName": "mcp__adjutant__complete"}
        else:
            await self.conn.session_update(session_id=session, update=acp.start_tool_call(
                "call-1", "Terminal", kind="execute", raw_input={"command": command}))
        answer = await self.conn.request_permission(
            session_id=session, tool_call=call,
            options=[schema.PermissionOption(option_id="yes", name="Do it", kind="allow_once"),
                     schema.PermissionOption(option_id="ever", name="Always", kind="allow_always"),
                     schema.PermissionOption(option_id="no", name="Leave it", kind="reject_once")])
        outcome = answer.outcome
        note("outcome", outcome.outcome + ":" + (getattr(outcome, "option_id", None) or ""))
        return getattr(outcome, "option_id", None)

    def report(self):
        given = self.servers[0]
        server = Server(given) if isinstance(given, schema.McpServerStdio) else Called(given)
        return server.call("tools/call", {"name": "complete", "arguments": {
            "summary": "did it", "outcome": "done"}})

    async def prompt(self, prompt, session_id, **_):
        note("prompt", prompt[0].text)
        if PART == "die":
            await self.say(session_id, "I am about to")
            os._exit(3)
        if PART == "limit":
            raise acp.RequestError(-32603, "Internal error", {"details": "429 Too Many Requests"})
        is_first = PART in ("killed", "forgets", "lost") and times("prompts") == 1
        if PART == "sleep" or is_first:
            note("begun", "")
            await self.cancelled.wait()
            note("cancelled", "")
            return schema.PromptResponse(stop_reason="cancelled")
        if PART == "files":
            try:
                await self.conn.read_text_file(path="/etc/hostname", session_id=session_id)
            except acp.RequestError as error:
                note("code", str(error.code))
        if PART == "refusal":
            return schema.PromptResponse(stop_reason="refusal")
        if PART == "lost" and os.path.getsize("prompts") == 2:
            # The loaded session has lost its MCP servers.
            await self.say(session_id, "I have no tools.")
            return schema.PromptResponse(stop_reason="end_turn")
        for word in ["I will ", "do ", "it."]:
            await self.say(session_id, word)
        if PART in ("work", "stay", "killed", "forgets", "lost", "http", "kimi", "hidden",
                    "announced", "forged", "own-tool"):
            if await self.ask(session_id, "touch made.txt") in ("yes", "ever"):
                note("made.txt", "")
            note("answer", json.dumps(self.report()))
        usage = schema.Usage(total_tokens=1_250, input_tokens=200, output_tokens=50,
                             cached_read_tokens=1_000)
        return schema.PromptResponse(stop_reason="end_turn", usage=usage)

    async def cancel(self, session_id, **_):
        self.cancelled.set()


if PART == "stay":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
asyncio.run(acp.run_agent(Scripted()))
if PART == "stay":
    time.sleep(3600)
