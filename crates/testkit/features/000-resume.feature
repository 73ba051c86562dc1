# Seed 000, examples 8 and 9.
Feature: Resume Protocol

  Scenario: Example 8: Resume Protocol (Stale Heartbeat with run_result)
    Given swe-backend works on TASK-2026-02-09-057
    And swe-backend has started a run of TASK-2026-02-09-057
    And swe-backend left a result for TASK-2026-02-09-057 with outcome partial
    And the heartbeat of TASK-2026-02-09-057 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then the status of TASK-2026-02-09-057 is now review
    And the record has these new lines:
      | type              | actor     | taskId              | payload.from | payload.to | payload.reason          |
      | task.completed    | scheduler | TASK-2026-02-09-057 |              |            |                         |
      | task.transitioned | scheduler | TASK-2026-02-09-057 | in-progress  | review     | stale_heartbeat_partial |
    # The partial work is kept, and a session that ends now has nothing left to apply.
    When a session ends
    Then the answer is noop
    And the record has no new lines

  Scenario: Example 9: Resume Protocol (Stale Heartbeat without run_result)
    Given swe-backend works on TASK-2026-02-09-057
    And swe-backend has started a run of TASK-2026-02-09-057
    And TASK-2026-02-09-057 has no run result
    And the heartbeat of TASK-2026-02-09-057 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then the status of TASK-2026-02-09-057 is now ready
    And the front matter of TASK-2026-02-09-057 has metadata.expiredReason: "stale_heartbeat"
    And the record has these new lines:
      | type              | actor     | taskId              | payload.from | payload.to | payload.reason          |
      | run.failed        | scheduler | TASK-2026-02-09-057 |              |            | stale_heartbeat         |
      | task.transitioned | scheduler | TASK-2026-02-09-057 | in-progress  | ready      | stale_heartbeat_reclaim |
