# Seed 001, TASK-061.
Feature: Run Artifact Expiry

  An attempt that was given up is marked as such, and kept.

  Background:
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend has started a run of TASK-2026-02-09-001
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z

  Scenario: Mark run artifact expired on reclaim
    When the scheduler ticks
    Then the status of TASK-2026-02-09-001 is now ready
    And runs/TASK-2026-02-09-001/attempts/1/run.json holds:
      """
      {
        "taskId": "TASK-2026-02-09-001",
        "agentId": "swe-backend",
        "startedAt": "2026-02-09T20:55:00.000Z",
        "status": "failed",
        "artifactPaths": {"inputs": "inputs/", "work": "work/", "output": "output/"},
        "metadata": {
          "expiredAt": "2026-02-10T10:05:00.000Z",
          "expiredReason": "stale_heartbeat"
        }
      }
      """
    And TASK-2026-02-09-001 has no run result

  Scenario: Expired artifact includes reason
    When the scheduler ticks
    Then the front matter of TASK-2026-02-09-001 has metadata.expiredAt: "2026-02-10T10:05:00.000Z"
    And the front matter of TASK-2026-02-09-001 has metadata.expiredReason: "stale_heartbeat"
