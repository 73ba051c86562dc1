"""Real agents, offline: each at work under `adjutant up` with a scripted model, and each failing.

usage: run.py PROGRAM NODE_MODULES [PART]...
"""

import calendar
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import model

PROGRAM, MODULES = (os.path.abspath(path) for path in sys.argv[1:3])
BIN = os.path.join(MODULES, ".bin")
PORT = model.serve()
URL = "http://127.0.0.1:%d" % PORT
AGENTS = {
    "claude": os.path.join(BIN, "claude"),
    "codex": os.path.join(BIN, "codex"),
    "goose": os.path.join(BIN, "goose-binary-linux-x64"),
}
DONE = {"call": "complete", "with": {"summary": "did it", "outcome": "done"}}
PATIENCE = 300


class Failed(Exception):
    pass


def check(true, words):
    if not true:
        raise Failed(words)


class Project:
    """A project of its own, with a home of its own, in a temporary folder."""

    # The user that commands run as, if not this one.
    user = None

    def __init__(self, agent, scheduler="", more="", command=None):
        self.home = tempfile.mkdtemp(prefix="adjutant-agents-")
        self.folder = os.path.join(self.home, "project")
        os.makedirs(self.folder)
        self.own(self.home, self.folder)
        self.agent = agent
        self.env = dict(
            {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ},
            HOME=self.home, ADJUTANT_TRUST="accept", ANTHROPIC_API_KEY="sk-ant-none", ANTHROPIC_BASE_URL=URL,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", CLAUDE_CODE_MAX_RETRIES="1",
            OPENAI_API_KEY="none", OPENAI_HOST=URL,
            GOOSE_PROVIDER="openai", GOOSE_MODEL="scripted", GOOSE_DISABLE_KEYRING="1")
        self.does("init")
        lines = ["[scheduler]", 'backoff = "1s"', 'grace = "3s"', scheduler,
                 "[agents.%s]" % agent, 'kind = "%s"' % agent,
                 "command = %s" % json.dumps(command or [AGENTS[agent]])]
        if agent == "codex":
            provider = ('model_providers.scripted={name="scripted",base_url="%s/v1",'
                        'env_key="OPENAI_API_KEY",wire_api="responses"}' % URL)
            args = ["-c", "model_provider=scripted", "-c", provider]
            lines += ['model = "scripted"', "args = %s" % json.dumps(args)]
            if more == DENIED["codex"]:
                lines[-1] = "args = %s" % json.dumps(args + ["--sandbox", "read-only"])
        elif agent == "claude":
            lines += ['model = "claude-sonnet-4-5"']
        with open(os.path.join(self.folder, ".adjutant", "adjutant.toml"), "w") as file:
            file.write("\n".join(lines + [more]) + "\n")

    def configure(self, change):
        """Changes the text of the configuration."""
        path = os.path.join(self.folder, ".adjutant", "adjutant.toml")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(change(text))

    def own(self, *paths):
        """Gives paths to the user of the project."""
        for path in paths if self.user is not None else ():
            os.chown(path, self.user, self.user)

    def adjutant(self, *args):
        return subprocess.run([PROGRAM, *args], cwd=self.folder, env=self.env, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE,
                              user=self.user, group=self.user)

    def does(self, *args):
        ran = self.adjutant(*args)
        check(ran.returncode == 0, "%s: %s%s" % (" ".join(args), ran.stdout, ran.stderr))
        return ran.stdout

    def json(self, *args):
        return json.loads(self.does(*args, "--json"))

    def add(self, steps):
        body = "Do what the script says.\n\n<play>%s</play>\n" % json.dumps(steps)
        added = self.json("task", "add", "Play a part", "--status", "ready", "--body", body)
        self.task = added["id"]
        return self.task

    def up(self):
        return self.does("up", "--until-idle")

    def start(self):
        """Lets a daemon work in the background, for what never gets idle."""
        self.does("up", "--detach")

    def show(self):
        return self.json("task", "show", self.task)

    def events(self, kind=None):
        events = map(json.loads, self.does("events", "--json").splitlines())
        return [event for event in events if kind in (None, event["type"])]

    def until(self, what, holds):
        end = time.time() + PATIENCE
        while time.time() < end:
            found = holds()
            if found:
                return found
            time.sleep(0.1)
        raise Failed("%s: it did not come to that\n%s" % (what, self.told()))

    def told(self):
        return self.adjutant("events").stdout + self.adjutant("logs", self.task).stdout[-3000:]

    def reason(self):
        shown = self.show()
        return shown["status"], str(shown.get("metadata", {}).get("statusReason"))

    def close(self):
        self.adjutant("down", "--stop")
        left = self.left()
        shutil.rmtree(self.home, ignore_errors=True)
        check(not left, "processes are left: %s" % left)

    def left(self):
        """Returns the processes that have this home in their environment."""
        mark, found = ("HOME=%s\0" % self.home).encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    if mark in file.read():
                        with open("/proc/%s/cmdline" % pid, "rb") as line:
                            found.append(line.read().replace(b"\0", b" ").decode()[:120])
            except OSError:
                pass
        return found


def works(agent):
    """A task is added, the agent writes a file, leaves processes behind, reports, is approved."""
    project = Project(agent)
    try:
        leave = ("setsid sleep 4321 >/dev/null 2>&1 & nohup sleep 4322 >/dev/null 2>&1 & "
                 "(setsid sh -c 'sleep 4323 & exit' >/dev/null 2>&1 &) ; echo hello > made.txt")
        task = project.add([{"run": leave}, DONE, {"say": "done"}])
        project.up()
        shown = project.show()
        check(shown["status"] == "review", project.told())
        with open(os.path.join(project.folder, "made.txt")) as file:
            check(file.read() == "hello\n", "the file is wrong")
        check(not project.left(), "left before the end: %s" % project.left())
        usage = shown["metadata"]["usage"][0]
        check(usage["agent"] == agent and usage["inputTokens"] >= 1000, str(usage))
        project.does("approve", task)
        check(project.show()["status"] == "done", project.told())
    finally:
        project.close()


def git(folder, *args):
    owner = os.stat(folder)
    ran = subprocess.run(["git", "-c", "user.name=me", "-c", "user.email=me@example.com", *args],
                         cwd=folder, text=True, capture_output=True, stdin=subprocess.DEVNULL,
                         env=dict(os.environ, HOME=os.path.dirname(folder)),
                         user=owner.st_uid, group=owner.st_gid)
    check(ran.returncode == 0, "git %s: %s" % (args, ran.stderr))
    return ran.stdout.strip()


CHECKED = '[project]\nchecks = ["grep -q two made.txt"]\nmerge = "rebase"\n'


def merged(agent, more=""):
    """The whole way: a work tree of its own, a check that fails first, review, merge."""
    go_the_whole_way(Project(agent, more='workspace = "worktree"\n%s\n%s' % (more, CHECKED)))


def go_the_whole_way(project, attempts=(2,), first=""):
    """Does a task up to a merge. `first` is a command that the agent begins each attempt with."""
    try:
        git(project.folder, "init", "-q", "-b", "main")
        with open(os.path.join(project.folder, ".gitignore"), "w") as file:
            file.write(".adjutant/\n")
        git(project.folder, "add", ".")
        git(project.folder, "commit", "-q", "-m", "first")
        # The second attempt is told what the check said, and does what the first left undone: be it
        # that it goes on with the conversation of the first, or begins anew.
        work = {"run": first + "if test -e made.txt; then grep -q two made.txt || echo two >> made.txt; "
                       "else echo one > made.txt; fi; git add made.txt; "
                       "git -c user.name=a -c user.email=a@b commit -q -m work"}
        task = project.add([work, DONE, {"say": "done"}, work, DONE, {"say": "done"}])
        project.start()
        over = ("review", "deadletter")
        project.until("reviewed", lambda: project.show()["status"] in over)
        shown = project.show()
        check(shown["status"] == "review", project.told())
        check(shown["metadata"]["lastRun"]["attempt"] in attempts, str(shown))
        check(not os.path.exists(os.path.join(project.folder, "made.txt")), "it is not merged yet")
        order = os.path.join(project.folder, ".adjutant/runs", task, "attempts/2/order")
        with open(order) as file:
            check("grep -q two made.txt" in file.read(), "it was not told which check failed")
        diff = project.does("task", "diff", task)
        check("+one" in diff and "+two" in diff, diff)
        told = project.does("task", "show", task)
        # Not every agent tells what it used.
        used = "usage" in shown["metadata"]
        check("checked" in told and ("used  " in told) == used, told)
        project.does("approve", task)
        project.until("merged", lambda: project.show()["status"] == "done")
        with open(os.path.join(project.folder, "made.txt")) as file:
            check(file.read() == "one\ntwo\n", "the file is wrong")
        check(git(project.folder, "status", "--porcelain") == "", "something lies about")
        check(git(project.folder, "rev-list", "--count", "main") == "3", "the commits are not there")
        return project.events("network.refused")
    finally:
        project.close()


def confined(agent):
    """The same in a sandbox, with a folder of its own for what the program keeps."""
    own = tempfile.mkdtemp(prefix="adjutant-agents-own-")
    env = {"claude": {"CLAUDE_CONFIG_DIR": own}, "codex": {"CODEX_HOME": own},
           "goose": {"XDG_CONFIG_HOME": own, "XDG_DATA_HOME": own, "XDG_STATE_HOME": own}}[agent]
    pairs = ", ".join('%s = "%s"' % pair for pair in env.items())
    try:
        merged(agent, 'sandbox = "landlock"\nsandbox_write = ["%s"]\nenv = { %s }' % (own, pairs))
    finally:
        shutil.rmtree(own, ignore_errors=True)


def fails(agent, steps, *words, more="", command=None):
    """An attempt without a result, in the right words; nothing is lost and nothing is left."""
    project = Project(agent, "attempts_max = 1", more, command)
    try:
        project.add([{"run": "echo kept > made.txt"}] + steps)
        project.up()
        status, reason = project.reason()
        check(status == "deadletter", project.told())
        found = any(one.lower() in reason.lower() for one in words)
        check(found, "%r is not in %r\n%s" % (words, reason, project.told()))
    finally:
        project.close()


def denied(agent):
    """Its tools are denied: it says so and ends well, which counts for nothing."""
    project = Project(agent, "attempts_max = 1", DENIED[agent])
    try:
        project.add([{"run": "echo bad > made.txt"}, {"say": "I was not allowed to."}])
        project.up()
        status, reason = project.reason()
        check(status == "deadletter", project.told())
        words = "not allowed to use Bash" if agent == "claude" else "I was not allowed to"
        check(words in reason, "%r is not in %r\n%s" % (words, reason, project.told()))
        check(not os.path.exists(os.path.join(project.folder, "made.txt")), "it was allowed to")
    finally:
        project.close()


# How each is kept from using its tools, by its own settings.
DENIED = {
    "claude": 'args = ["--allowedTools", "mcp__adjutant"]',
    "codex": "# It may only read.",
    "goose": 'env = { GOOSE_MODE = "chat" }',
}


def no_server(agent):
    """Our MCP server cannot be started: its program is not where it was said to be."""
    home = tempfile.mkdtemp(prefix="adjutant-agents-")
    wrapper = os.path.join(home, "wrapper")
    with open(wrapper, "w") as file:
        file.write("#!/usr/bin/env python3\nimport os, sys\n"
                   "ours, gone, real = %r, '/no/such/program', %r\n"
                   "args = [arg.replace(ours, gone) for arg in sys.argv[1:]]\n"
                   "for arg in args:\n"
                   "    if arg.endswith('mcp.json'):\n"
                   "        text = open(arg).read().replace(ours, gone)\n"
                   "        open(arg, 'w').write(text)\n"
                   "os.execv(real, [real] + args)\n" % (PROGRAM, AGENTS[agent]))
    os.chmod(wrapper, 0o755)
    try:
        fails(agent, [{"say": "I could not."}], "MCP server was not connected", command=[wrapper])
    finally:
        shutil.rmtree(home)


def parked(agent, *what, **more):
    """The agent cannot work: no attempt is spent, and the task waits for it."""
    is_parked(Project(agent, "attempts_max = 1", 'idle_timeout = "10s"'), *what, **more)


def is_parked(project, step, code, words, until=None):
    try:
        project.add([step])
        project.start()
        project.until("parked", lambda: "parked" in project.show().get("metadata", {}))
        shown = project.show()
        check(shown["status"] == "ready", project.told())
        check("failures" not in shown["metadata"], "an attempt was spent")
        codes = [reason["code"] for reason in project.json("why", project.task)["reasons"]]
        check(code in codes, "%s\n%s" % (codes, project.told()))
        check(words.lower() in shown["metadata"]["parked"]["reason"].lower(), str(shown))
        kinds = [item["kind"] for item in project.json("inbox")]
        check(("unusable" in kinds) == (code == "agent_unusable"), str(kinds))
        if until:
            at = time.strptime(shown["metadata"]["parked"]["until"][:19], "%Y-%m-%dT%H:%M:%S")
            check(abs(calendar.timegm(at) - until) < 120, str(shown["metadata"]))
    finally:
        project.close()


def unauthorised(agent):
    error = {"type": "authentication_error", "message": "invalid x-api-key"}
    parked(agent, {"status": 401, "error": error}, "agent_unusable",
           "API key" if agent == "claude" else "401")


def limit(kind="rate_limit_error"):
    """A step that fails for two hours, as its answer says in several ways."""
    error = {"type": kind, "message": "The usage limit has been reached", "plan_type": "plus",
             "resets_at": int(time.time()) + 7200, "resets_in_seconds": 7200}
    return {"status": 429, "error": error, "headers": {"retry-after": "7200"}}


def limited(agent):
    step = limit("usage_limit_reached" if agent == "codex" else "rate_limit_error")
    # Claude Code does not say when it ends, and goose never waits for longer than an hour.
    hours = {"claude": None, "codex": 2, "goose": 1}[agent]
    until = hours and time.time() + hours * 3600
    parked(agent, step, "agent_limited", "429" if agent == "claude" else "limit", until)


def broken(agent):
    error = {"type": "api_error", "message": "scripted to fail"}
    fails(agent, [{"status": 500, "error": error}], "error" if agent != "codex" else "demand")


def silent(agent):
    fails(agent, [{"silence": True}], "its model may not answer", more='idle_timeout = "5s"')


def cut(agent):
    # Claude Code may take what it has got for the whole answer.
    words = {"claude": ("API Error", "Words that are"), "codex": ("stream disconnected",),
             "goose": ("Stream decode error",)}[agent]
    fails(agent, [{"cut": True}, {"say": "x"}], *words, more='timeout = "60s"')


def killed(agent):
    """Killed in the middle; the next attempt goes on with the same conversation. Killed again, the
    one after that begins anew."""
    is_killed(Project(agent, "attempts_max = 3"))


def is_killed(project, third="# Work order"):
    try:
        def wait(n):
            return {"run": "touch begun%d; test -e again%d || { touch again%d; sleep 4324; }" % (n, n, n)}

        project.add([wait(1), wait(2), {"run": "echo more >> made.txt"}, DONE, {"say": "done"}])
        project.start()
        runs = os.path.join(project.folder, ".adjutant", "runs", project.task, "attempts")
        for n in (1, 2):
            begun = os.path.join(project.folder, "begun%d" % n)
            project.until("begun", lambda: os.path.exists(begun))
            told = os.path.join(runs, str(n), "told.json")
            project.until("told", lambda: "session" in open(told).read())
            with open(os.path.join(runs, str(n), "shim.json")) as file:
                os.kill(json.load(file)["agentPid"], signal.SIGKILL)
        project.until("reported", lambda: project.show()["status"] == "review")
        for n, words in ((2, "You were stopped"), (3, third)):
            with open(os.path.join(runs, str(n), "order")) as file:
                check(file.read().startswith(words), "attempt %d was not told: %s" % (n, words))
        with open(os.path.join(project.folder, "made.txt")) as file:
            check(file.read() == "more\n", "the work is not what it should be")
    finally:
        project.close()


def tested(agent):
    """`agents test` makes a round trip, and says what is wrong."""
    is_tested(Project(agent))


def is_tested(project):
    try:
        def test():
            return json.loads(project.adjutant("agents", "test", project.agent, "--json").stdout)

        tried = test()
        check(tried["ok"] is False and "exited without a report" in str(tried["reason"]), str(tried))
        model.UNASKED[:] = [DONE, {"say": "done"}]
        tried = test()
        check(tried["ok"] is True, str(tried))
    finally:
        model.UNASKED[:] = [model.OVER]
        project.close()


PARTS = [(name, part, agent) for agent in AGENTS for name, part in [
    ("works", works), ("merged", merged), ("sandbox", confined), ("denied", denied),
    ("no-server", no_server), ("401", unauthorised), ("429", limited),
    ("500", broken), ("silence", silent), ("cut", cut), ("killed", killed), ("test", tested)]]


def main():
    wanted, failed = sys.argv[3:], []
    for name, part, agent in PARTS:
        title = "%s: %s" % (agent, name)
        if wanted and title not in wanted and name not in wanted and agent not in wanted:
            continue
        began = time.time()
        try:
            part(agent)
            print("ok    %5.1f s  %s" % (time.time() - began, title), flush=True)
        except Exception as error:  # The next part may still tell something.
            failed.append(title)
            print("FAILED %4.1f s  %s\n%s: %s" % (time.time() - began, title,
                                                   type(error).__name__, error), flush=True)
    print("%d failed" % len(failed) if failed else "all is well", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
