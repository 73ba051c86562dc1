# Seed 001, TASK-059.
Feature: Session End Completion Check

  A report may be written and its move not made, because somebody died in between.
  The end of a session makes up for it.

  Scenario: Session end with run_result.json applies transitions
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend left a result for TASK-2026-02-09-001 with outcome partial
    When a session ends
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now review
    And the record has these new lines:
      | type              | actor       | taskId              | payload.from | payload.to | payload.reason |
      | task.completed    | swe-backend | TASK-2026-02-09-001 |              |            |                |
      | task.transitioned | swe-backend | TASK-2026-02-09-001 | in-progress  | review     | Left behind.   |

  Scenario: Session end without run_result.json does nothing
    Given swe-backend works on TASK-2026-02-09-001
    And TASK-2026-02-09-001 has no run result
    When a session ends
    Then the answer is noop
    And the record has no new lines
    And no task and no run has changed

  Scenario: Session end with multiple in-progress tasks
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend left a result for TASK-2026-02-09-001 with outcome done
    And swe-backend works on TASK-2026-02-09-002
    And TASK-2026-02-09-002 needs no review
    And swe-backend left a result for TASK-2026-02-09-002 with outcome done
    And swe-qa works on TASK-2026-02-09-003
    And swe-qa left a result for TASK-2026-02-09-003 with outcome blocked
    And swe-qa works on TASK-2026-02-09-004
    And swe-qa left a result for TASK-2026-02-09-004 with outcome needs_review
    And swe-qa works on TASK-2026-02-09-005
    When a session ends
    Then the answer is applied
    And TASK-2026-02-09-001 has gone from in-progress to review
    And TASK-2026-02-09-002 has gone from in-progress to review to done
    And TASK-2026-02-09-003 has gone from in-progress to blocked
    And TASK-2026-02-09-004 has gone from in-progress to review
    And the status of TASK-2026-02-09-001 is now review
    And the status of TASK-2026-02-09-002 is now done
    And the status of TASK-2026-02-09-003 is now blocked
    And the status of TASK-2026-02-09-004 is now review
    And the status of TASK-2026-02-09-005 is still in-progress
    # What has been applied is not applied again.
    When a session ends
    Then the answer is noop
    And the record has no new lines
    And no task and no run has changed
