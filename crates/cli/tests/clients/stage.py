"""A project with a listening daemon, and agents that write their environment to a file and wait."""

import json
import os
import subprocess
import tempfile
import time

PATIENCE = 120

# An agent that writes its run's variables to a file, and sleeps.
SETTINGS = """
[scheduler]
concurrency = 32
poll = "1h"
grace = "200ms"

[agents.worker]
kind = "command"
command = ["sh", "-c", "env | grep ^ADJUTANT_ > $ADJUTANT_TASK_ID.env; mv $ADJUTANT_TASK_ID.env $ADJUTANT_TASK_ID.run; sleep 600"]
slots = 32
"""


class Stage:
    """A project in a temporary folder. Leaving the context stops its daemon and runs."""

    def __init__(self, binary, settings=""):
        self.binary = os.path.abspath(binary)
        self.folder = tempfile.TemporaryDirectory()
        self.home = self.folder.name
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith("ADJUTANT_")
        }
        self.environment["USER"] = "alice"
        self.environment["ADJUTANT_TRUST"] = "accept"
        self.environment["XDG_STATE_HOME"] = f"{self.home}/state"
        self.run("init", ".")
        with open(f"{self.home}/.adjutant/adjutant.toml", "w") as file:
            file.write(SETTINGS + settings)
        self.json("up", "--detach", "--listen", "127.0.0.1:0")
        self.url = self.json("status")["url"]
        with open(f"{self.home}/.adjutant/operator-token") as token:
            self.token = token.read().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("down", "--stop")
        self.folder.cleanup()

    def run(self, *args):
        command = [self.binary, *args]
        done = subprocess.run(
            command, cwd=self.home, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode in (0, 1), (command, done)
        return done.stdout

    def json(self, *args):
        return json.loads(self.run(*args, "--json"))

    def add(self, title, *args):
        return self.json("task", "add", title, *args)["id"]

    def show(self, task):
        return self.json("task", "show", task)

    def in_review(self, title):
        """Creates a task that waits for a review."""
        task = self.add(title, "--agent", "absent")
        for status in ("ready", "in-progress", "review"):
            self.run("task", "move", task, status)
        return task

    def run_of(self, title):
        """Starts a run, and returns its environment variables."""
        task = self.add(title, "--agent", "worker", "--status", "ready")
        until = time.monotonic() + PATIENCE
        while not os.path.exists(f"{self.home}/{task}.run"):
            assert time.monotonic() < until, f"{task} was not started"
            time.sleep(0.02)
        with open(f"{self.home}/{task}.run") as given:
            pairs = (line.rstrip("\n").split("=", 1) for line in given)
            return {key: value for key, value in pairs}
