# Seed 001, TASK-061.
Feature: Scheduler Integration

  A tick clears up what is over before it gives out anything.

  Scenario: Scheduler poll detects and processes stale heartbeats
    Given a task TASK-2026-02-09-001 with status in-progress
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    # Asked, it says what it would do and does nothing.
    When the scheduler is asked what it would do
    Then its actions are:
      | type            | taskId              | recovery |
      | stale_heartbeat | TASK-2026-02-09-001 | reclaim  |
    And no task and no run has changed
    When the scheduler ticks
    Then its actions are:
      | type            | taskId              | recovery |
      | stale_heartbeat | TASK-2026-02-09-001 | reclaim  |
    And the status of TASK-2026-02-09-001 is now ready

  Scenario: Stale heartbeat action does not count as dispatch action
    Given swe-backend works on TASK-2026-02-09-001
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then the status of TASK-2026-02-09-001 is now ready
    And 0 of its actions count as executed

  Scenario: Multiple stale heartbeats processed independently
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend left a result for TASK-2026-02-09-001 with outcome partial
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And swe-backend works on TASK-2026-02-09-002
    And swe-backend left a result for TASK-2026-02-09-002 with outcome blocked
    And the heartbeat of TASK-2026-02-09-002 counts until 2026-02-10T10:00:00.000Z
    And swe-backend works on TASK-2026-02-09-003
    And swe-backend left a result for TASK-2026-02-09-003 with outcome done
    And the heartbeat of TASK-2026-02-09-003 counts until 2026-02-10T10:00:00.000Z
    And swe-backend works on TASK-2026-02-09-004
    And the heartbeat of TASK-2026-02-09-004 counts until 2026-02-10T10:00:00.000Z
    And a task TASK-2026-02-09-005 with status in-progress
    And the heartbeat of TASK-2026-02-09-005 counts until 2026-02-10T11:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then its actions are:
      | type            | taskId              | recovery |
      | stale_heartbeat | TASK-2026-02-09-001 | partial  |
      | stale_heartbeat | TASK-2026-02-09-002 | blocked  |
      | stale_heartbeat | TASK-2026-02-09-003 | done     |
      | stale_heartbeat | TASK-2026-02-09-004 | reclaim  |
    And TASK-2026-02-09-001 has gone from in-progress to review
    And TASK-2026-02-09-002 has gone from in-progress to blocked
    And TASK-2026-02-09-003 has gone from in-progress to review
    And TASK-2026-02-09-004 has gone from in-progress to ready
    And the status of TASK-2026-02-09-005 is still in-progress
