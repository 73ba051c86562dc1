# Seed 001, TASK-061.
Feature: Stale Heartbeat Detection

  A run that runs elsewhere is judged by its heartbeat alone.

  Scenario: Detect stale heartbeat with TTL expiry
    Given swe-backend works on TASK-2026-02-09-001
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler is asked what it would do
    Then its actions are:
      | type            | taskId              | recovery |
      | stale_heartbeat | TASK-2026-02-09-001 | reclaim  |
    And no task and no run has changed
    # To the very millisecond: what counts until ten does not count at ten.
    When it is 2026-02-10T10:00:00.000Z
    And the scheduler is asked what it would do
    Then its actions are:
      | type            | taskId              | recovery |
      | stale_heartbeat | TASK-2026-02-09-001 | reclaim  |

  Scenario: Heartbeat not stale if TTL not exceeded
    Given a task TASK-2026-02-09-001 with status in-progress
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:10:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then it has no actions
    And the answer is noop
    And the record has no new lines
    And no task and no run has changed

  Scenario: Task with no heartbeat file is not flagged as stale
    Given a task TASK-2026-02-09-001 with status in-progress
    And TASK-2026-02-09-001 has no heartbeat
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then it has no actions
    And the record has no new lines
    And no task and no run has changed
