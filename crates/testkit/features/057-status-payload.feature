# Seed 001, TASK-057.
Feature: Status Update Payload Validation

  An update may be about anything, as long as it is about something.

  Background:
    Given swe-qa works on TASK-2026-02-09-059
    And a status.update on TASK-2026-02-09-059 from swe-qa

  Scenario: Status update must have at least one field
    When the message is sent
    Then the answer is rejected, invalid_envelope:
      | payload: at least one of status, progress, blockers, notes is required |
    And no task and no run has changed

  Scenario: Status update with only progress
    Given the message says payload.progress is "50% complete"
    When the message is sent
    Then it is read as a status.update
    And the answer is applied
    And the status of TASK-2026-02-09-059 is still in-progress

  Scenario: Status update with blockers array
    Given the message says payload.blockers is ["API key needed", "Dependency not ready"]
    When the message is sent
    Then it is read as a status.update
    And the answer is applied
    And the record has these new lines:
      | type                      | payload.blockers                          |
      | protocol.message.received |                                           |
      | task.logged               | ["API key needed","Dependency not ready"] |
    # A list of anything but texts is none.
    When the message says payload.blockers is ["API key needed", 7]
    And the message is sent
    Then the answer is rejected, invalid_envelope:
      | payload.blockers[1]: must be text, not a number |
    And no task and no run has changed
