"""Fuzzes the HTTP interface against its OpenAPI document with schemathesis.

usage: fuzz.py ADJUTANT SCHEMATHESIS EXAMPLES
"""

import subprocess
import sys

from stage import Stage

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
]


def main():
    with Stage(sys.argv[1]) as stage:
        task = stage.in_review("the one that is called")
        for number in range(5):
            stage.add(f"another {number}")
        stage.run("story", "init")
        stage.json("story", "start", "US-001")
        settings = f"{stage.home}/schemathesis.toml"
        with open(settings, "w") as file:
            # Calls use an existing task; schemathesis also tries missing ones.
            file.write(f'[parameters]\nid = "{task}"\n')
            file.write('[[operations]]\ninclude-path-regex = "^/v1/stories/"\n')
            file.write('parameters = { id = "US-001" }\n')
        command = [
            sys.argv[2], "--config-file", settings, "run", f"{stage.url}/v1/openapi.json",
            "--url", stage.url, "--header", f"Authorization: Bearer {stage.token}",
            # The event stream does not end.
            "--exclude-path", "/v1/events/stream",
            "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
            "--max-examples", sys.argv[3], "--no-color", "--suppress-health-check", "all",
        ]
        done = subprocess.run(command, cwd=stage.home, env=stage.environment)
        problems = stage.json("doctor")
        assert problems["ok"], problems
        sys.exit(done.returncode)


main()
