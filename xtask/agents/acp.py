"""Real agents over the Agent Client Protocol, offline: at work under `adjutant up`, asking, failing.

usage: acp.py PROGRAM NODE_MODULES [PART]...
"""

import json
import os
import sys
import time

import run
from run import BIN, DONE, URL, check

PROVIDER = {"model_provider": "scripted", "model": "scripted", "model_providers": {"scripted": {
    "name": "scripted", "base_url": URL + "/v1", "env_key": "OPENAI_API_KEY",
    "wire_api": "responses"}}}
OPENCODE = {"model": "scripted/scripted", "provider": {"scripted": {
    "npm": "@ai-sdk/openai-compatible", "name": "scripted",
    "options": {"baseURL": URL + "/v1", "apiKey": "none"},
    "models": {"scripted": {"name": "scripted"}}}}}
AGENTS = {
    "claude-acp": {"kind": "acp", "command": [os.path.join(BIN, "claude-agent-acp")],
                   "env": {"ANTHROPIC_MODEL": "claude-sonnet-4-5"}},
    "codex-acp": {"kind": "acp", "command": [os.path.join(BIN, "codex-acp")],
                  "env": {"CODEX_CONFIG": json.dumps(PROVIDER)}},
    "goose-acp": {"kind": "acp", "env": {"GOOSE_MODE": "approve"},
                  "command": [os.path.join(BIN, "goose-binary-linux-x64"), "acp"]},
    "gemini": {"kind": "gemini", "command": [os.path.join(BIN, "gemini")], "model": "gemini-2.5-pro",
               "env": {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": URL}},
    "opencode": {"kind": "opencode", "command": [os.path.join(BIN, "opencode")],
                 "env": {"OPENCODE_CONFIG_CONTENT": json.dumps(OPENCODE)}},
}


class Project(run.Project):
    """A project with one agent that speaks the protocol."""

    def __init__(self, agent, permissions, scheduler="", more=(), last=""):
        super().__init__("claude")
        self.agent, known = agent, AGENTS[agent]
        lines = ["[scheduler]", 'backoff = "1s"', 'grace = "4s"', scheduler,
                 "[agents.%s]" % agent, 'kind = "%s"' % known["kind"],
                 "command = %s" % json.dumps(known["command"]), *more]
        if "model" in known:
            lines.append('model = "%s"' % known["model"])
        if permissions is not None:
            rows = ["{ %s }" % ", ".join('%s = "%s"' % pair for pair in rule.items())
                    for rule in permissions]
            lines.append("permissions = [%s]" % ", ".join(rows))
        if known.get("env"):
            pairs = ["%s = %s" % (name, json.dumps(value)) for name, value in known["env"].items()]
            lines.append("env = { %s }" % ", ".join(pairs))
        with open(os.path.join(self.folder, ".adjutant", "adjutant.toml"), "w") as file:
            file.write("\n".join(lines + [last]) + "\n")

    def made(self):
        try:
            with open(os.path.join(self.folder, "made.txt")) as file:
                return file.read()
        except FileNotFoundError:
            return None


def works(agent):
    """A task is added, the agent writes a file, reports through MCP, is approved."""
    project = Project(agent, [{"answer": "allow"}] if AGENTS[agent]["kind"] == "acp" else None)
    try:
        task = project.add([{"run": "echo hello > made.txt"}, DONE, {"say": "done"}])
        project.up()
        check(project.show()["status"] == "review", project.told())
        check(project.made() == "hello\n", "the file is wrong: %r" % project.made())
        check(not project.left(), "left before the end: %s" % project.left())
        project.does("approve", task)
        check(project.show()["status"] == "done", project.told())
    finally:
        project.close()


def merged(agent):
    """The whole way: a work tree of its own, a check that fails first, review, merge."""
    rules = [{"answer": "allow"}] if AGENTS[agent]["kind"] == "acp" else None
    # One that goose loads has none of the tools it is given with it: it comes to nothing, and the
    # attempt after that begins anew.
    attempts = (2, 3) if agent == "goose-acp" else (2,)
    run.go_the_whole_way(
        Project(agent, rules, more=['workspace = "worktree"'], last=run.CHECKED), attempts)


def asks(agent):
    """What no rule settles is in the inbox, and goes on when a person has answered."""
    # Those whose program we know are asked for nothing unless they are told to.
    rules = None if AGENTS[agent]["kind"] == "acp" else [{"answer": "ask"}]
    project = Project(agent, rules)
    try:
        task = project.add([{"run": "echo hello > made.txt"}, DONE, {"say": "done"}])
        project.start()

        def asked():
            items = [item for item in project.json("inbox") if item["kind"] == "permission"]
            return items and items[0]

        item = project.until("asked", asked)
        check("made.txt" in item["text"], str(item))
        check(project.made() is None, "it did not wait")
        action = next(action for action in item["actions"] if action.endswith(":allow"))
        project.does(*action.split(" "))
        project.until("reported", lambda: project.show()["status"] == "review")
        check(project.made() == "hello\n", "the file is wrong: %r" % project.made())
        project.does("approve", task)
    finally:
        project.close()


def denied(agent):
    """What is denied is not done; that the turn ended is no report."""
    project = Project(agent, [{"answer": "deny"}], "attempts_max = 1")
    try:
        project.add([{"run": "echo hello > made.txt"}, {"say": "I was not allowed to."}])
        project.up()
        status, reason = project.reason()
        check(status == "deadletter" and "not allowed" in reason, project.told())
        check(project.made() is None, "it was done all the same")
    finally:
        project.close()


def stopped(agent):
    """A run that is cancelled while it works, or asks, is over in an orderly way."""
    project = Project(agent, [{"answer": "allow"}])
    try:
        task = project.add([{"run": "touch begun; sleep 4325"}, {"say": "done"}])
        project.start()
        begun = os.path.join(project.folder, "begun")
        project.until("begun", lambda: os.path.exists(begun))
        project.does("task", "cancel", task)
        began = time.time()
        project.until("over", lambda: "run.exited" in project.does("events"))
        check(time.time() - began < 60, "it took too long")
    finally:
        project.close()


def limited(agent):
    """It waits for a limit to end, and tells that in its log only: the task is parked."""
    project = Project(agent, None, "attempts_max = 1", more=['idle_timeout = "20s"'])
    run.is_parked(project, run.limit(), "agent_limited", "usage limit")


def tested(agent):
    """`agents test` makes a round trip, and says what is wrong."""
    run.is_tested(Project(agent, None))


PARTS = [(name, part, agent) for agent in AGENTS for name, part in [
    ("works", works), ("merged", merged), ("asks", asks), ("denied", denied), ("stopped", stopped),
    ("test", tested)]]
PARTS += [("429", limited, agent) for agent in ("gemini", "opencode")]
# Within its own sandbox it asks nobody.
PARTS = [part for part in PARTS if part[2] != "codex-acp" or part[0] in ("works", "merged", "stopped", "test")]

if __name__ == "__main__":
    run.PARTS = PARTS
    run.main()
