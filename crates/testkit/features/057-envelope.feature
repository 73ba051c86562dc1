# Seed 001, TASK-057. Where SPEC §3 settles a point differently, the scenario follows SPEC.
Feature: Protocol Message Envelope Validation

  Whatever an agent has to say comes in the same envelope.
  An envelope in order is typed and acted on; one that is not is refused with every fault named,
  and a refusal leaves nothing behind but a line in the record.

  Background:
    Given swe-backend works on TASK-2026-02-09-057

  Scenario: Valid completion report envelope
    Given a completion.report on TASK-2026-02-09-057 from swe-backend
    When the message is sent
    Then it is read as a completion.report
    And the answer is applied

  Scenario Outline: Valid status update envelope
    Given a status.update on TASK-2026-02-09-057 from swe-backend
    And the message says payload.<field> is <value>
    When the message is sent
    Then it is read as a status.update
    And the answer is applied

    Examples: one field is enough, whichever it is
      | field    | value                  |
      | status   | "blocked"              |
      | progress | "Half of the routes"   |
      | blockers | ["No staging account"] |
      | notes    | "Going well"           |

  Scenario: Valid handoff request envelope
    Given a task TASK-2026-02-09-060 with status ready
    And a handoff.request from swe-backend that gives TASK-2026-02-09-060, a part of TASK-2026-02-09-057, to swe-qa
    And the message says payload.acceptanceCriteria is ["Every route has a test"]
    When the message is sent
    Then it is read as a handoff.request
    And the answer is applied

  Scenario Outline: Valid handoff acknowledgment envelopes
    Given a <kind> on TASK-2026-02-09-057 from swe-backend
    And the message says payload.reason is <reason>
    When the message is sent
    Then it is read as a <kind>
    And the answer is applied
    When the message has no payload.reason
    And the message is sent
    Then it is read as a <kind>
    And the answer is applied

    Examples: with a reason, and then without
      | kind             | reason                    |
      | handoff.accepted | "Starting at once"        |
      | handoff.rejected | "There is no test plan"   |

  # SPEC: a text that neither says it is ours nor is announced as ours is none of our business.
  Scenario: Invalid protocol field
    Given a completion.report on TASK-2026-02-09-057 from swe-backend
    And the message says protocol is "custom"
    When the message is sent
    Then the answer is ignored
    And the record has no new lines
    And no task and no run has changed
    When the message is sent after the prefix AOF/1
    Then the answer is rejected, invalid_envelope:
      | protocol: invalid protocol: must be "aof" |
    And no task and no run has changed

  Scenario: Invalid version field
    Given a completion.report on TASK-2026-02-09-057 from swe-backend
    And the message says version is 2
    When the message is sent
    Then the answer is rejected, invalid_envelope:
      | version: unsupported version 2: must be 1 |
    And no task and no run has changed

  Scenario Outline: Missing required envelope fields
    Given a completion.report on TASK-2026-02-09-057 from swe-backend
    But the message has no <field>
    When the message is sent
    Then the answer is rejected, invalid_envelope:
      | <field>: is required |
    And no task and no run has changed

    Examples:
      | field     |
      | taskId    |
      | version   |
      | type      |
      | fromAgent |
      | toAgent   |
      | sentAt    |
      | payload   |

  Scenario: Invalid taskId format
    Given a completion.report on TASK-2026-02-09-057 from swe-backend
    And the message says taskId is "invalid-format"
    When the message is sent
    Then the answer is rejected, invalid_envelope:
      | taskId: must match TASK-YYYY-MM-DD-NNN |
    And no task and no run has changed

  Scenario: Invalid sentAt timestamp
    Given a completion.report on TASK-2026-02-09-057 from swe-backend
    And the message says sentAt is "not-a-timestamp"
    When the message is sent
    Then the answer is rejected, invalid_envelope:
      | sentAt: must be an ISO 8601 datetime (RFC 3339), such as 2026-02-09T21:00:00.000Z |
    And no task and no run has changed
