# Seed 001, TASK-060.
Feature: Handoff Request Processing

  One task gives a part of its work on to another, and says in two files what is expected.

  Background:
    Given swe-backend works on TASK-2026-02-09-001
    And a task TASK-2026-02-09-002 with status ready
    And a handoff.request from swe-backend that gives TASK-2026-02-09-002, a part of TASK-2026-02-09-001, to swe-qa

  Scenario: Valid handoff request creates artifacts
    Given the message says payload.acceptanceCriteria is ["All tests pass", "Docs updated"]
    When the message is sent
    Then the answer is applied
    And there is a file tasks/ready/TASK-2026-02-09-002/inputs/handoff.json
    And there is a file tasks/ready/TASK-2026-02-09-002/inputs/handoff.md
    And the status of TASK-2026-02-09-002 is still ready
    And the record has these new lines:
      | type                      | actor       | taskId              | payload.acceptanceCriteria        |
      | protocol.message.received | swe-backend | TASK-2026-02-09-002 |                                   |
      | delegation.requested      | swe-backend | TASK-2026-02-09-002 | ["All tests pass","Docs updated"] |

  Scenario: Handoff artifacts include all payload fields
    Given the message says payload.acceptanceCriteria is ["Every route has a test", "The guide is up to date"]
    And the message says payload.expectedOutputs is ["tests/report.md", "docs/QA.md"]
    And the message says payload.contextRefs is ["tasks/in-progress/TASK-2026-02-09-001.md", "src/users.rs"]
    And the message says payload.constraints is []
    And the message says payload.dueBy is "2026-02-11T12:00:00.000Z"
    When the message is sent
    Then the answer is applied
    And tasks/ready/TASK-2026-02-09-002/inputs/handoff.json holds:
      """
      {
        "taskId": "TASK-2026-02-09-002",
        "parentTaskId": "TASK-2026-02-09-001",
        "fromAgent": "swe-backend",
        "toAgent": "swe-qa",
        "acceptanceCriteria": ["Every route has a test", "The guide is up to date"],
        "expectedOutputs": ["tests/report.md", "docs/QA.md"],
        "contextRefs": ["tasks/in-progress/TASK-2026-02-09-001.md", "src/users.rs"],
        "constraints": [],
        "dueBy": "2026-02-11T12:00:00.000Z"
      }
      """
    And tasks/ready/TASK-2026-02-09-002/inputs/handoff.md reads:
      """
      # Handoff Request

      **From:** swe-backend
      **To:** swe-qa
      **Due By:** 2026-02-11T12:00:00.000Z

      ## Acceptance Criteria

      - Every route has a test
      - The guide is up to date

      ## Expected Outputs

      - tests/report.md
      - docs/QA.md

      ## Context References

      - tasks/in-progress/TASK-2026-02-09-001.md
      - src/users.rs

      ## Constraints

      None
      """

  Scenario: Handoff request updates child metadata with delegation depth
    Given TASK-2026-02-09-001 has the delegation depth 0
    When the message is sent
    Then the front matter of TASK-2026-02-09-002 has metadata.delegationDepth: 1
    And the front matter of TASK-2026-02-09-002 has parentId: "TASK-2026-02-09-001"
    And the front matter of TASK-2026-02-09-002 has routing.agent: "swe-qa"
    And the front matter of TASK-2026-02-09-002 has updatedAt: "2026-02-09T21:00:00.000Z"
    And no half-written file is left behind

  Scenario: Nested delegation rejected - depth exceeds limit
    Given TASK-2026-02-09-001 has the delegation depth 1
    When the message is sent
    Then the answer is rejected, nested_delegation
    And the record has these new lines:
      | type                      | payload.reason    |
      | protocol.message.received |                   |
      | delegation.rejected       | nested_delegation |
      | protocol.message.rejected | nested_delegation |
    And no task and no run has changed

  Scenario: Handoff request with taskId mismatch
    Given a task TASK-2026-02-09-003 with status ready
    And the message says payload.taskId is "TASK-2026-02-09-003"
    When the message is sent
    Then the answer is rejected, taskId_mismatch:
      | payload.taskId: must equal the taskId of the envelope |
    And no task and no run has changed

  Scenario: Handoff request with missing parent task
    Given there is no task TASK-2026-02-09-999
    And the message says payload.parentTaskId is "TASK-2026-02-09-999"
    When the message is sent
    Then the answer is rejected, parent_not_found
    And the record has these new lines:
      | type                      | payload.reason   |
      | protocol.message.received |                  |
      | delegation.rejected       | parent_not_found |
    And no task and no run has changed
