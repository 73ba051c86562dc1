# Seed 001, TASK-061.
Feature: Stale Heartbeat Recovery with run_result.json

  What an agent reported before it died counts; else the task is tried again.

  Scenario: Stale heartbeat with no run_result.json reclaims task
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend has started a run of TASK-2026-02-09-001
    And TASK-2026-02-09-001 has no run result
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now ready
    And the front matter of TASK-2026-02-09-001 has no lease
    And there is a file runs/TASK-2026-02-09-001/attempts/1/run.json
    And there is a file runs/TASK-2026-02-09-001/attempts/1/run_heartbeat.json
    And the record has these new lines:
      | type              | actor     | taskId              | payload.from | payload.to | payload.reason          |
      | run.failed        | scheduler | TASK-2026-02-09-001 |              |            | stale_heartbeat         |
      | task.transitioned | scheduler | TASK-2026-02-09-001 | in-progress  | ready      | stale_heartbeat_reclaim |
    # It waits before it is tried again, and nothing is left to clear up.
    When the scheduler ticks
    Then it has no actions

  Scenario: Stale heartbeat with outcome=partial moves to review
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend left a result for TASK-2026-02-09-001 with outcome partial
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now review
    And the record has these new lines:
      | type              | actor     | taskId              | payload.from | payload.to | payload.reason          |
      | task.completed    | scheduler | TASK-2026-02-09-001 |              |            |                         |
      | task.transitioned | scheduler | TASK-2026-02-09-001 | in-progress  | review     | stale_heartbeat_partial |

  Scenario: Stale heartbeat with outcome=needs_review moves to review
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend left a result for TASK-2026-02-09-001 with outcome needs_review
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now review
    And the record has these new lines:
      | type              | actor     | taskId              | payload.from | payload.to | payload.reason               |
      | task.completed    | scheduler | TASK-2026-02-09-001 |              |            |                              |
      | task.transitioned | scheduler | TASK-2026-02-09-001 | in-progress  | review     | stale_heartbeat_needs_review |

  Scenario: Stale heartbeat with outcome=blocked moves to blocked
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend left a result for TASK-2026-02-09-001 with outcome blocked
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now blocked
    And the record has these new lines:
      | type              | actor     | taskId              | payload.from | payload.to | payload.reason                                      |
      | task.completed    | scheduler | TASK-2026-02-09-001 |              |            |                                                     |
      | task.transitioned | scheduler | TASK-2026-02-09-001 | in-progress  | blocked    | stale_heartbeat_blocked: The staging server is down |

  Scenario: Stale heartbeat with outcome=done and reviewRequired=false completes task
    Given swe-backend works on TASK-2026-02-09-001
    And TASK-2026-02-09-001 needs no review
    And swe-backend left a result for TASK-2026-02-09-001 with outcome done
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now done
    And the record has these new lines:
      | type              | actor     | taskId              | payload.from | payload.to | payload.reason       |
      | task.completed    | scheduler | TASK-2026-02-09-001 |              |            |                      |
      | task.transitioned | scheduler | TASK-2026-02-09-001 | in-progress  | review     | stale_heartbeat_done |
      | task.transitioned | scheduler | TASK-2026-02-09-001 | review       | done       | stale_heartbeat_done |

  Scenario: Stale heartbeat with outcome=done and reviewRequired=true goes to review
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend left a result for TASK-2026-02-09-001 with outcome done
    And the heartbeat of TASK-2026-02-09-001 counts until 2026-02-10T10:00:00.000Z
    And it is 2026-02-10T10:05:00.000Z
    When the scheduler ticks
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now review
    And the record has these new lines:
      | type              | actor     | taskId              | payload.from | payload.to | payload.reason       |
      | task.completed    | scheduler | TASK-2026-02-09-001 |              |            |                      |
      | task.transitioned | scheduler | TASK-2026-02-09-001 | in-progress  | review     | stale_heartbeat_done |
