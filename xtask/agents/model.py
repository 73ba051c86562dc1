"""A scripted model: what a prompt tells it to do, it does, over the APIs that agents speak.

A prompt holds a script between <play> and </play>, a JSON list of steps; each answer of the model
is the next step. Which one that is stands in the ids of the tool calls before it, so that an agent
that is started again, and brings its conversation along, goes on where it was.

  {"say": "words"}                    ends the turn
  {"run": "command"}                  calls the agent's own shell
  {"call": "complete", "with": {}}    calls a tool of ours, whatever the agent calls it
  {"status": 429, "error": {}, "headers": {}}   fails, every time
  {"silence": true}                   takes the request and never answers
  {"cut": true}                       breaks off in the middle of an answer
"""

import json
import re
import socket
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHELLS = ("Bash", "exec_command", "shell_command", "shell", "run_shell_command", "bash")
SEARCHES = ("ToolSearch", "tool_search")
OVER = {"say": "There is nothing more in the script."}
# What is played where the prompt holds no script.
UNASKED = [OVER]


def words(content):
    """All text in a message, however it is made of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(words(part) for part in content)
    if isinstance(content, dict):
        return words(content.get("text") or content.get("content") or "")
    return ""


class Talk:
    """What a request says, whichever API it came by: texts of the user, ids of calls, tools."""

    def __init__(self):
        self.texts, self.calls, self.answers, self.tools = [], [], 0, {}

    def tool(self, name, schema, kind="function", space=None):
        if name:
            self.tools[name] = {"name": name, "schema": schema or {}, "kind": kind, "space": space}

    def step(self):
        """Returns the step to play now and its number."""
        script, before = UNASKED, 0
        for at, text in self.texts:
            for found in re.findall(r"<play>(.*?)</play>", text, re.S):
                script, before = json.loads(found), at
        done = [int(n) for at, call in self.calls if at >= before
                for n in re.findall(r"step(\d+)x", call)]
        number = max(done, default=-1) + 1
        # Words have no id: who is told to go on has said them.
        resumed = re.compile("You were stopped|Your last attempt was rejected")
        told = [text for at, text in self.texts if at > before and resumed.search(text)]
        if told and number < len(script) and "say" in script[number]:
            number += 1
        return (script[number] if number < len(script) else OVER), number


def of_anthropic(body):
    talk = Talk()
    for tool in body.get("tools") or []:
        talk.tool(tool.get("name"), tool.get("input_schema"))
    for at, message in enumerate(body.get("messages") or []):
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for part in parts:
            if part.get("type") == "tool_use":
                talk.calls.append((at, part["id"]))
            elif message["role"] == "user" and part.get("type") == "text":
                talk.texts.append((at, part.get("text") or ""))
    return talk


def of_chat(body):
    talk = Talk()
    for tool in body.get("tools") or []:
        function = tool.get("function") or tool
        talk.tool(function.get("name"), function.get("parameters"))
    for at, message in enumerate(body.get("messages") or []):
        for call in message.get("tool_calls") or []:
            talk.calls.append((at, call.get("id") or ""))
        if message.get("role") == "user":
            talk.texts.append((at, words(message.get("content"))))
    return talk


def of_responses(body):
    talk = Talk()

    def declare(tool, space=None):
        if tool.get("type") == "namespace":
            for inner in tool.get("tools") or []:
                declare(inner, tool.get("name"))
        elif tool.get("type") in ("function", "custom", "local_shell", "tool_search"):
            name = tool.get("name") or tool["type"]
            talk.tool(name, tool.get("parameters"), tool["type"], space)

    for tool in body.get("tools") or []:
        declare(tool)
    items = body.get("input") or []
    for at, item in enumerate(items if isinstance(items, list) else []):
        kind = item.get("type") or "message"
        if kind == "message" and item.get("role") == "user":
            talk.texts.append((at, words(item.get("content"))))
        elif kind.endswith("_call"):
            talk.calls.append((at, item.get("call_id") or item.get("id") or ""))
        for tool in item.get("tools") or []:
            declare(tool)
    return talk


def of_gemini(body):
    talk = Talk()
    for tool in body.get("tools") or []:
        for one in tool.get("functionDeclarations") or []:
            talk.tool(one.get("name"), one.get("parametersJsonSchema") or one.get("parameters"))
    for at, content in enumerate(body.get("contents") or []):
        for part in content.get("parts") or []:
            if "functionCall" in part:
                talk.calls.append((at, part["functionCall"].get("id") or ""))
            elif content.get("role") != "model" and "text" in part:
                talk.texts.append((at, part["text"]))
    return talk


def choose(talk, step):
    """Returns the tool a step calls and its arguments; none if there is no such tool."""
    if "run" in step:
        tool = next((talk.tools[name] for name in SHELLS if name in talk.tools), None)
        if tool is None:
            return None
        fields = tool["schema"].get("properties") or {}
        key = "cmd" if "cmd" in fields else "command"
        value = step["run"]
        if (fields.get(key) or {}).get("type") == "array":
            value = ["bash", "-lc", value]
        return tool, {key: value}
    name = step["call"]
    ours = [tool for known, tool in talk.tools.items()
            if known == name or re.search(r"[_.]" + name + "$", known)]
    return (ours[0], step.get("with") or {}) if ours else None


def answer(talk):
    """Returns what the model says and calls: text, tool, arguments, id."""
    step, number = talk.step()
    if "say" in step:
        return step, step["say"], None, None, None
    mark = "step%dx%s" % (number, uuid.uuid4().hex[:8])
    chosen = choose(talk, step) if ("run" in step or "call" in step) else None
    if chosen is None and "call" in step:
        # Some agents hide tools until they are looked for. That is no step.
        search = next((talk.tools[name] for name in SEARCHES if name in talk.tools), None)
        looked = sum(1 for _, call in talk.calls if call.find("look%dx" % number) >= 0)
        if search and looked < 2:
            query = ("select:" if search["name"] == "ToolSearch" else "") + step["call"]
            mark = "look%dx%s" % (number, uuid.uuid4().hex[:8])
            return step, "", search, {"query": query, "max_results": 5}, mark
    if chosen is None:
        return step, "There is no tool for %s." % json.dumps(step), None, None, None
    return step, "", chosen[0], chosen[1], mark


def anthropic(text, tool, args, mark):
    block = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": text}
    if tool:
        block = {"type": "tool_use", "id": "toolu_" + mark, "name": tool["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(args)}
    usage = {"input_tokens": 1000, "output_tokens": 1,
             "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    events = [
        {"type": "message_start", "message": {
            "id": "msg_" + uuid.uuid4().hex, "type": "message", "role": "assistant",
            "model": "scripted", "content": [], "stop_reason": None, "stop_sequence": None,
            "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "usage": {"output_tokens": 20},
         "delta": {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}},
        {"type": "message_stop"},
    ]
    return [(event["type"], event) for event in events]


def chat(text, tool, args, mark):
    base = {"id": "chatcmpl-" + uuid.uuid4().hex, "object": "chat.completion.chunk",
            "created": 1, "model": "scripted"}

    def chunk(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return None, dict(base, choices=[choice])

    events = [chunk({"role": "assistant", "content": text})]
    if tool:
        function = {"name": tool["name"], "arguments": json.dumps(args)}
        call = {"index": 0, "id": "call_" + mark, "type": "function", "function": function}
        events.append(chunk({"tool_calls": [call]}))
    events.append(chunk({}, "tool_calls" if tool else "stop"))
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    events.append((None, dict(base, choices=[], usage=usage)))
    return events + [(None, "[DONE]")]


def item_of(text, tool, args, mark):
    if tool is None:
        part = {"type": "output_text", "text": text, "annotations": []}
        return {"type": "message", "id": "msg_" + uuid.uuid4().hex, "role": "assistant",
                "status": "completed", "content": [part]}
    call = {"call_id": "call_" + mark, "status": "completed"}
    if tool["kind"] == "tool_search":
        return dict(call, type="tool_search_call", id="tsc_" + mark, execution="client",
                    arguments=args)
    if tool["kind"] == "local_shell":
        action = {"type": "exec", "command": ["bash", "-lc", args["command"]], "env": {}}
        return dict(call, type="local_shell_call", id="lsh_" + mark, action=action)
    item = dict(call, type="function_call", id="fc_" + mark, name=tool["name"],
                arguments=json.dumps(args))
    return dict(item, namespace=tool["space"]) if tool["space"] else item


def responses(text, tool, args, mark):
    item = item_of(text, tool, args, mark)
    usage = {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 0},
             "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0},
             "total_tokens": 1020}
    whole = {"id": "resp_" + uuid.uuid4().hex, "object": "response", "created_at": 1,
             "model": "scripted", "status": "completed", "output": [item], "usage": usage}
    begun = dict(whole, status="in_progress", output=[], usage=None)
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return [(event["type"], dict(event, sequence_number=n)) for n, event in enumerate(events)]


def gemini(text, tool, args, mark):
    part = {"text": text}
    if tool:
        part = {"functionCall": {"id": "call_" + mark, "name": tool["name"], "args": args}}
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020}

    def chunk(parts, **more):
        candidate = dict({"content": {"role": "model", "parts": parts}, "index": 0}, **more)
        return None, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}

    return [chunk([part]), chunk([{"text": ""}], finishReason="STOP")]


APIS = {
    ":streamGenerateContent": (of_gemini, gemini),
    "/messages": (of_anthropic, anthropic),
    "/chat/completions": (of_chat, chat),
    "/responses": (of_responses, responses),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, document, headers=()):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        models = [{"id": name, "object": "model"} for name in ("scripted", "claude-sonnet-4-5")]
        self.send(200, {"object": "list", "data": models, "models": []})

    do_HEAD = do_GET

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        path = self.path.split("?")[0].rstrip("/")
        if path.endswith(":countTokens"):
            return self.send(200, {"totalTokens": 1000})
        if path.endswith("/count_tokens"):
            return self.send(200, {"input_tokens": 1000})
        api = next((api for end, api in APIS.items() if path.endswith(end)), None)
        if api is None:
            return self.send(404, {"error": {"message": "there is no such path"}})
        read, write = api
        talk = read(body)
        step, text, tool, args, mark = answer(talk)
        if not talk.tools and "status" not in step:
            step, text, tool = {}, "A title", None
        if "status" in step:
            error = step.get("error") or {"type": "error", "message": "scripted to fail"}
            return self.send(step["status"], {"type": "error", "error": error},
                             step.get("headers") or {})
        if "silence" in step:
            return self.hold()
        return self.stream(write(text or "Words that are", tool, args, mark), "cut" in step)

    def stream(self, events, cut):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, (name, event) in enumerate(events):
            if cut and number >= len(events) // 2:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            data = event if isinstance(event, str) else json.dumps(event)
            text = ("event: %s\n" % name if name else "") + "data: %s\n\n" % data
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text.encode()), text.encode()))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def hold(self):
        self.close_connection = True
        try:
            while self.connection.recv(65536):
                pass
        except OSError:
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Whoever is killed goes without a word."""


def serve():
    """Serves in a thread, and returns the port."""
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]
