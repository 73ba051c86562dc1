# Seed 001, TASK-057.
Feature: Run Result Artifact

  What an agent reports is kept as a file beside its run, wherever the task goes from there.

  Background:
    Given swe-backend works on TASK-2026-02-09-001
    And a completion.report on TASK-2026-02-09-001 from swe-backend
    And the message says payload.outcome is "partial"

  Scenario: Write run_result.json to runs directory
    When the message is sent
    Then there is a file runs/TASK-2026-02-09-001/run_result.json
    And the run result of TASK-2026-02-09-001 is:
      """
      {
        "taskId": "TASK-2026-02-09-001",
        "agentId": "swe-backend",
        "completedAt": "2026-02-09T21:10:00.000Z",
        "outcome": "partial",
        "summaryRef": "outputs/summary.md",
        "handoffRef": "outputs/handoff.md",
        "deliverables": [],
        "tests": {"total": 10, "passed": 10, "failed": 0},
        "blockers": [],
        "notes": "All acceptance criteria met."
      }
      """

  Scenario: Read existing run_result.json
    Given swe-backend left a result for TASK-2026-02-09-001 with outcome partial
    Then the router reads the run result of TASK-2026-02-09-001 as its file has it

  Scenario: Read non-existent run_result.json
    Given TASK-2026-02-09-001 has no run result
    Then the router finds no run result for TASK-2026-02-09-001

  Scenario: Write run_result.json with all optional fields
    Given the message says payload.deliverables is ["src/foo.ts", "src/bar.ts"]
    And the message says payload.blockers is ["API key needed"]
    And the message says payload.notes is "The first half works; the second waits for a key"
    When the message is sent
    Then the run result of TASK-2026-02-09-001 is:
      """
      {
        "taskId": "TASK-2026-02-09-001",
        "agentId": "swe-backend",
        "completedAt": "2026-02-09T21:10:00.000Z",
        "outcome": "partial",
        "summaryRef": "outputs/summary.md",
        "handoffRef": "outputs/handoff.md",
        "deliverables": ["src/foo.ts", "src/bar.ts"],
        "tests": {"total": 10, "passed": 10, "failed": 0},
        "blockers": ["API key needed"],
        "notes": "The first half works; the second waits for a key"
      }
      """
    And the router reads the run result of TASK-2026-02-09-001 as its file has it
