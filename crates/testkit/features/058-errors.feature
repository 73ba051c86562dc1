# Seed 001, TASK-058.
Feature: Protocol Router Error Handling

  A message about a task that nobody knows is refused, and the refusal is in the record.

  Background:
    Given swe-backend works on TASK-2026-02-09-001
    And there is no task TASK-2026-02-09-999

  Scenario: Handle task not found in completion report
    Given a completion.report on TASK-2026-02-09-999 from swe-backend
    When the message is sent
    Then the answer is rejected, task_not_found
    And the record has these new lines:
      | type                      | taskId              | payload.reason |
      | protocol.message.received | TASK-2026-02-09-999 |                |
      | protocol.message.rejected | TASK-2026-02-09-999 | task_not_found |
    And no task and no run has changed
    And TASK-2026-02-09-999 has no run result

  Scenario: Handle task not found in status update
    Given a status.update on TASK-2026-02-09-999 from swe-backend
    And the message says payload.status is "blocked"
    When the message is sent
    Then the answer is rejected, task_not_found
    And the record has these new lines:
      | type                      | taskId              | payload.reason |
      | protocol.message.received | TASK-2026-02-09-999 |                |
      | protocol.message.rejected | TASK-2026-02-09-999 | task_not_found |
    And no task and no run has changed

  Scenario: Handle task not found in handoff request
    Given a handoff.request from swe-backend that gives TASK-2026-02-09-999, a part of TASK-2026-02-09-001, to swe-qa
    When the message is sent
    Then the answer is rejected, task_not_found
    And the record has these new lines:
      | type                      | taskId              | payload.reason |
      | protocol.message.received | TASK-2026-02-09-999 |                |
      | delegation.rejected       | TASK-2026-02-09-999 | task_not_found |
      | protocol.message.rejected | TASK-2026-02-09-999 | task_not_found |
    And no task and no run has changed
