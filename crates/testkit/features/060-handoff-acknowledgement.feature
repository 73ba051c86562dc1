# Seed 001, TASK-060.
Feature: Handoff Acknowledgment Processing

  Who is given work says whether it will be done. A refusal stops the task until somebody looks.

  Background:
    Given swe-qa works on TASK-2026-02-09-002

  Scenario: Handoff accepted acknowledgment
    Given a handoff.accepted on TASK-2026-02-09-002 from swe-qa
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-002 is still in-progress
    And the record has these new lines:
      | type                      | actor  | taskId              |
      | protocol.message.received | swe-qa | TASK-2026-02-09-002 |
      | delegation.accepted       | swe-qa | TASK-2026-02-09-002 |
    And no task and no run has changed

  Scenario: Handoff rejected acknowledgment transitions to blocked
    Given a handoff.rejected on TASK-2026-02-09-002 from swe-qa
    And the message says payload.reason is "Insufficient context"
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-002 is now blocked
    And the record has these new lines:
      | type                      | payload.from | payload.to | payload.reason       |
      | protocol.message.received |              |            |                      |
      | task.transitioned         | in-progress  | blocked    | Insufficient context |
      | delegation.rejected       |              |            | Insufficient context |

  Scenario: Handoff acknowledgment with missing task
    Given there is no task TASK-2026-02-09-999
    And a handoff.accepted on TASK-2026-02-09-999 from swe-qa
    When the message is sent
    Then the answer is rejected, task_not_found
    And the record has these new lines:
      | type                      | taskId              | payload.reason |
      | protocol.message.received | TASK-2026-02-09-999 |                |
      | protocol.message.rejected | TASK-2026-02-09-999 | task_not_found |
    And no task and no run has changed
