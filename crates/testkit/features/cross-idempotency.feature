# Seed 001, cross-cutting.
Feature: Idempotency

  A message may come twice: a sender who got no answer sends again. The second time changes nothing.

  Background:
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend has written the outputs of TASK-2026-02-09-001

  Scenario: Duplicate completion reports are idempotent
    Given a completion.report on TASK-2026-02-09-001 from swe-backend
    When the message is sent
    Then the status of TASK-2026-02-09-001 is now review
    When the same message is sent again
    Then the answer is applied
    And runs/TASK-2026-02-09-001/run_result.json is written again with the same content
    And the status of TASK-2026-02-09-001 is still review
    And the record has these new lines:
      | type                      | payload.outcome |
      | protocol.message.received |                 |
      | task.completed            | done            |

  Scenario: Duplicate handoff requests are idempotent
    Given a task TASK-2026-02-09-002 with status ready
    And a handoff.request from swe-backend that gives TASK-2026-02-09-002, a part of TASK-2026-02-09-001, to swe-qa
    When the message is sent
    Then the front matter of TASK-2026-02-09-002 has metadata.delegationDepth: 1
    When the same message is sent again
    Then the answer is applied
    And tasks/ready/TASK-2026-02-09-002/inputs/handoff.json is written again with the same content
    And tasks/ready/TASK-2026-02-09-002/inputs/handoff.md is written again with the same content
    And no half-written file is left behind
    And the front matter of TASK-2026-02-09-002 has metadata.delegationDepth: 1
    And the record has these new lines:
      | type                      | taskId              |
      | protocol.message.received | TASK-2026-02-09-002 |
      | delegation.requested      | TASK-2026-02-09-002 |
