"""Real agents in the `strict` sandbox, offline: a list of hosts has the scripted model alone.

usage: strict.py PROGRAM NODE_MODULES [PART]...
"""

import os
import shutil

import acp
import run
from run import BIN, MODULES, PORT, URL, check

# The user that owns nothing.
NOBODY = 65534
STRICT = 'sandbox = "strict"\nnetwork = ["127.0.0.1:%d"]' % PORT
REFUSED = "refused.example"
# What the programs ask for besides the hosts that `adjutant agents` lists for their kind.
CODEX = ["ab.chatgpt.com", "api.github.com", "api.openai.com", "chatgpt.com", "github.com"]
ALSO_ASKED = {"codex": CODEX, "codex-acp": CODEX, "gemini": ["play.googleapis.com"]}


def project(agent, user=None, scheduler="", more=STRICT, last=""):
    """Makes a project with an agent in the sandbox, for a user."""
    if agent in run.AGENTS:
        made = made_for(run.Project, user)(agent, scheduler, more + "\n" + last)
    else:
        rules = [{"answer": "allow"}] if acp.AGENTS[agent]["kind"] == "acp" else None
        made = made_for(acp.Project, user)(agent, rules, scheduler, more=[more], last=last)
    if user is not None:
        install_in_home(made)
    return made


def made_for(project, user):
    return type("Project", (project,), {"user": user})


def install_in_home(project):
    """Installs Node.js and the agents in the home, as nvm and npm do."""
    home = os.path.join(project.home, ".nvm/versions/node/v0")
    programs, modules = os.path.join(home, "bin"), os.path.join(home, "lib/node_modules")
    os.makedirs(programs)
    shutil.copytree(MODULES, modules, symlinks=True, copy_function=link_or_copy)
    for name in os.listdir(BIN):
        real = os.path.relpath(os.path.realpath(os.path.join(BIN, name)), MODULES)
        os.symlink(os.path.join("../lib/node_modules", real), os.path.join(programs, name))
    shutil.copy(os.path.realpath(shutil.which("node")), programs)
    project.env["PATH"] = programs + os.pathsep + project.env["PATH"]
    project.configure(lambda text: text.replace(BIN, programs))


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def ordinary_user():
    """Returns the user to test as; `None` is this one."""
    return NOBODY if os.getuid() == 0 else None


def refused_hosts(events):
    return {event["payload"]["host"].rsplit(":", 1)[0] for event in events}


def merged(agent):
    """A task up to a merge; another host is refused, and the program asks for no unlisted one."""
    made = project(agent, ordinary_user(), more='workspace = "worktree"\n' + STRICT, last=run.CHECKED)
    listed = next(one["hosts"] for one in made.json("agents")["agents"] if one["name"] == agent)
    first = "! curl -sSf http://%s/ || exit 1; " % REFUSED
    # See `merged` in acp.py.
    attempts = (2, 3) if agent == "goose-acp" else (2,)
    events = run.go_the_whole_way(made, attempts, first)
    asked = refused_hosts(events)
    check(REFUSED in asked, "the event log does not say what was refused: %s" % asked)
    unknown = asked - {REFUSED, *listed, *ALSO_ASKED.get(agent, [])}
    check(not unknown, "docs/agents.md does not say that it asks for %s" % unknown)


def killed(agent):
    """Killed in the middle, and resumed; killed again, and begun anew."""
    made = project(agent, scheduler="attempts_max = 3")
    # Gemini CLI does not load the session of a run that was killed: the second attempt has a new
    # one, which the third resumes.
    third = ["You were stopped"] if agent == "gemini" else []
    run.is_killed(made, *third)


def proxied(agent):
    """The program uses the proxy variables: the proxy is asked for its model, and refuses."""
    made = project(agent, scheduler="attempts_max = 1", more=STRICT + '\ntimeout = "20s"')
    try:
        elsewhere = "http://" + REFUSED
        made.env = {name: value.replace(URL, elsewhere) for name, value in made.env.items()}
        made.configure(lambda text: text.replace(URL, elsewhere))
        made.add([{"say": "It was reached."}])
        made.start()
        made.until("refused", lambda: REFUSED in refused_hosts(made.events("network.refused")))
    finally:
        made.close()


AGENTS = [*run.AGENTS, *acp.AGENTS]
PARTS = [(name, part, agent) for agent in AGENTS for name, part in [
    ("strict", merged), ("strict-killed", killed), ("strict-proxy", proxied)]]

if __name__ == "__main__":
    run.PARTS = PARTS
    run.main()
