# Seed 001, TASK-060.
Feature: Delegation Depth Guard

  Work is given on once. Who got it from somebody else does it, or says no.

  Scenario: Root task has delegation depth 0
    When a person adds the task Write the user service
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now backlog
    And the front matter of TASK-2026-02-09-001 has no metadata.delegationDepth

  Scenario: First-level delegation sets depth to 1
    Given swe-backend works on TASK-2026-02-09-001
    And TASK-2026-02-09-001 has the delegation depth 0
    And a task TASK-2026-02-09-002 with status ready
    And a handoff.request from swe-backend that gives TASK-2026-02-09-002, a part of TASK-2026-02-09-001, to swe-qa
    When the message is sent
    Then the answer is applied
    And the front matter of TASK-2026-02-09-002 has metadata.delegationDepth: 1

  Scenario: Second-level delegation is rejected
    Given swe-backend works on TASK-2026-02-09-001
    And a task TASK-2026-02-09-002 with status ready
    And a task TASK-2026-02-09-003 with status ready
    And a handoff.request from swe-backend that gives TASK-2026-02-09-002, a part of TASK-2026-02-09-001, to swe-qa
    When the message is sent
    Then the answer is applied
    # The first handoff made TASK-2026-02-09-002 speak through swe-qa, and set its depth.
    Given a handoff.request from swe-qa that gives TASK-2026-02-09-003, a part of TASK-2026-02-09-002, to swe-docs
    When the message is sent
    Then the answer is rejected, nested_delegation
    And the record has these new lines:
      | type                      | actor  | taskId              | payload.reason    |
      | protocol.message.received | swe-qa | TASK-2026-02-09-003 |                   |
      | delegation.rejected       | swe-qa | TASK-2026-02-09-003 | nested_delegation |
      | protocol.message.rejected | swe-qa | TASK-2026-02-09-003 | nested_delegation |
    And no task and no run has changed

  Scenario: Depth guard checks parent depth, not child depth
    Given swe-backend works on TASK-2026-02-09-001
    And TASK-2026-02-09-001 has the delegation depth 1
    And a task TASK-2026-02-09-002 with status ready
    And a handoff.request from swe-backend that gives TASK-2026-02-09-002, a part of TASK-2026-02-09-001, to swe-qa
    When the message is sent
    Then the answer is rejected, nested_delegation
    And no task and no run has changed
    # The other way round, a depth that the child already has is no reason to refuse.
    Given swe-backend works on TASK-2026-02-09-003
    And a task TASK-2026-02-09-004 with status ready
    And TASK-2026-02-09-004 has the delegation depth 1
    And a handoff.request from swe-backend that gives TASK-2026-02-09-004, a part of TASK-2026-02-09-003, to swe-qa
    When the message is sent
    Then the answer is applied
    And the front matter of TASK-2026-02-09-004 has metadata.delegationDepth: 1
