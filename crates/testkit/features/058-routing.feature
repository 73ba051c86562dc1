# Seed 001, TASK-058. The lines of the record show which rule a message was handed to.
Feature: Protocol Message Routing

  Every message in order is written down as received, in the name of its sender, and handed to the
  rule of its type.

  Background:
    Given swe-backend works on TASK-2026-02-09-057
    And swe-backend has written the outputs of TASK-2026-02-09-057

  Scenario: Route completion.report message
    Given a completion.report on TASK-2026-02-09-057 from swe-backend
    When the message is sent
    Then the answer is applied
    And the record has these new lines, whole:
      """
      {"eventId":2,"type":"protocol.message.received","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"type":"completion.report","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00.000Z"}}
      {"eventId":3,"type":"task.completed","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"taskId":"TASK-2026-02-09-057","agentId":"swe-backend","completedAt":"2026-02-09T21:10:00.000Z","outcome":"done","summaryRef":"outputs/summary.md","handoffRef":"outputs/handoff.md","deliverables":[],"tests":{"total":10,"passed":10,"failed":0},"blockers":[],"notes":"All acceptance criteria met."}}
      {"eventId":4,"type":"task.transitioned","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"from":"in-progress","to":"review","reason":"All acceptance criteria met."}}
      """

  Scenario: Route status.update message
    Given a status.update on TASK-2026-02-09-057 from swe-backend
    And the message says payload.progress is "Three of five routes answer"
    When the message is sent
    Then the answer is applied
    And the record has these new lines, whole:
      """
      {"eventId":2,"type":"protocol.message.received","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"type":"status.update","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00.000Z"}}
      {"eventId":3,"type":"task.logged","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"at":"2026-02-09T21:10:00.000Z","progress":"Three of five routes answer"}}
      """

  Scenario: Route handoff.request message
    Given a task TASK-2026-02-09-061 with status ready
    And a handoff.request from swe-backend that gives TASK-2026-02-09-061, a part of TASK-2026-02-09-057, to swe-qa
    When the message is sent
    Then the answer is applied
    And the record has these new lines, whole:
      """
      {"eventId":2,"type":"protocol.message.received","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-061","payload":{"type":"handoff.request","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00.000Z"}}
      {"eventId":3,"type":"delegation.requested","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-061","payload":{"taskId":"TASK-2026-02-09-061","parentTaskId":"TASK-2026-02-09-057","fromAgent":"swe-backend","toAgent":"swe-qa","acceptanceCriteria":["All tests pass"],"expectedOutputs":["tests/report.md"],"contextRefs":["tasks/in-progress/TASK-2026-02-09-057.md"],"constraints":["No new dependencies"],"dueBy":"2026-02-10T12:00:00.000Z"}}
      """

  Scenario: Route handoff.accepted message
    Given a handoff.accepted on TASK-2026-02-09-057 from swe-backend
    When the message is sent
    Then the answer is applied
    And the record has these new lines, whole:
      """
      {"eventId":2,"type":"protocol.message.received","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"type":"handoff.accepted","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00.000Z"}}
      {"eventId":3,"type":"delegation.accepted","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{}}
      """

  Scenario: Route handoff.rejected message
    Given a handoff.rejected on TASK-2026-02-09-057 from swe-backend
    And the message says payload.reason is "The schema is missing"
    When the message is sent
    Then the answer is applied
    And the record has these new lines, whole:
      """
      {"eventId":2,"type":"protocol.message.received","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"type":"handoff.rejected","toAgent":"dispatcher","sentAt":"2026-02-09T21:10:00.000Z"}}
      {"eventId":3,"type":"task.transitioned","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"from":"in-progress","to":"blocked","reason":"The schema is missing"}}
      {"eventId":4,"type":"delegation.rejected","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"reason":"The schema is missing"}}
      """

  Scenario: Handle unknown message type
    Given a custom.message on TASK-2026-02-09-057 from swe-backend
    When the message is sent
    Then the answer is unknown, unknown_type
    And the record has these new lines, whole:
      """
      {"eventId":2,"type":"protocol.message.unknown","timestamp":"2026-02-09T21:00:00.000Z","actor":"swe-backend","taskId":"TASK-2026-02-09-057","payload":{"type":"custom.message"}}
      """
    And no task and no run has changed
