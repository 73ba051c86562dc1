# Seed 001, TASK-057.
Feature: Handoff Request Payload Validation

  Work that is given on says what must come of it and until when; the rest may be left open.

  Background:
    Given swe-backend works on TASK-2026-02-09-001
    And a task TASK-2026-02-09-002 with status ready
    And a handoff.request from swe-backend that gives TASK-2026-02-09-002, a part of TASK-2026-02-09-001, to swe-qa

  Scenario: Valid handoff request with all fields
    Given the message says payload.acceptanceCriteria is ["All tests pass", "Documentation updated"]
    And the message says payload.expectedOutputs is ["tests/report.md"]
    And the message says payload.contextRefs is ["tasks/in-progress/TASK-2026-02-09-001.md"]
    And the message says payload.constraints is ["No new dependencies"]
    And the message says payload.dueBy is "2026-02-11T12:00:00.000Z"
    When the message is sent
    Then it is read as a handoff.request
    And the answer is applied

  Scenario: Handoff request with minimal fields
    Given the message has no payload.acceptanceCriteria
    And the message has no payload.expectedOutputs
    And the message has no payload.contextRefs
    And the message has no payload.constraints
    When the message is sent
    Then it is read as a handoff.request
    And the answer is applied
    And tasks/ready/TASK-2026-02-09-002/inputs/handoff.json holds:
      """
      {
        "taskId": "TASK-2026-02-09-002",
        "parentTaskId": "TASK-2026-02-09-001",
        "fromAgent": "swe-backend",
        "toAgent": "swe-qa",
        "acceptanceCriteria": [],
        "expectedOutputs": [],
        "contextRefs": [],
        "constraints": [],
        "dueBy": "2026-02-10T12:00:00.000Z"
      }
      """

  Scenario: Invalid dueBy timestamp
    Given the message says payload.dueBy is "tomorrow"
    When the message is sent
    Then the answer is rejected, invalid_envelope:
      | payload.dueBy: must be an ISO 8601 datetime (RFC 3339), such as 2026-02-09T21:00:00.000Z |
    And no task and no run has changed
    # And without one there is no handoff.
    When the message has no payload.dueBy
    And the message is sent
    Then the answer is rejected, invalid_envelope:
      | payload.dueBy: is required |
    And no task and no run has changed
