# Seed 001, TASK-058.
Feature: Protocol Message Parsing

  Messages arrive among other talk: by themselves, inside an event, or as text with a prefix.
  Ours are found in all of these, and what is not ours is left alone.

  Background:
    Given swe-backend works on TASK-2026-02-09-057
    And a completion.report on TASK-2026-02-09-057 from swe-backend

  Scenario Outline: Parse message with protocol field in payload
    When the message is sent as the <field> of an event
    Then it is read as a completion.report
    And the answer is applied

    Examples: SPEC names two more places beside the seed's
      | field   |
      | payload |
      | message |
      | content |

  Scenario: Parse message with AOF/1 prefix
    When the message is sent after the prefix AOF/1
    Then it is read as a completion.report
    And the answer is applied
    When the message is sent as text in the content of an event
    Then it is read as a completion.report
    And the answer is applied

  Scenario: Parse plain JSON message
    When the message is sent
    Then it is read as a completion.report
    And the answer is applied

  Scenario: Ignore non-protocol message
    When this text is sent:
      """
      Good evening. The build is green again, thanks to everybody.
      """
    Then the answer is ignored
    And the record has no new lines
    And no task and no run has changed

  Scenario: Reject invalid JSON
    When this text is sent:
      """
      AOF/1 {invalid json
      """
    Then the answer is rejected, invalid_json:
      | is not JSON: key must be a string at line 1 column 2 |
    And no task and no run has changed
    # Without the prefix, what names the protocol is meant for us all the same.
    When this text is sent:
      """
      {"protocol": "aof", "version": 1, "type"
      """
    Then the answer is rejected, invalid_json:
      | is not JSON: EOF while parsing an object at line 1 column 40 |
    And no task and no run has changed

  Scenario: Reject malformed envelope
    Given the message has no toAgent
    And the message has no sentAt
    And the message has no payload.summaryRef
    When the message is sent
    Then the answer is rejected, invalid_envelope:
      | toAgent: is required            |
      | sentAt: is required             |
      | payload.summaryRef: is required |
    And no task and no run has changed
