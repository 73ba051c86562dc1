# Seed 001, TASK-059.
Feature: Status Update Processing

  An update moves the task if it names another status, and is written into the work log if not.

  Background:
    Given swe-backend works on TASK-2026-02-09-001
    And a status.update on TASK-2026-02-09-001 from swe-backend

  Scenario: Status update with explicit status field
    Given the message says payload.status is "blocked"
    And the message says payload.blockers is ["Waiting on dependency"]
    And the message says payload.notes is "Back tomorrow"
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now blocked
    And the record has these new lines:
      | type                      | payload.from | payload.to | payload.reason        |
      | protocol.message.received |              |            |                       |
      | task.transitioned         | in-progress  | blocked    | Waiting on dependency |

  Scenario: Status update with progress only (no status field)
    Given the message says payload.progress is "75% complete, on track"
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is still in-progress
    And the body of TASK-2026-02-09-001 is now:
      """
      Do it.

      ## Work Log

      - 2026-02-09T21:10:00.000Z Progress: 75% complete, on track
      """

  Scenario: Status update with notes only
    Given the message says payload.notes is "A flaky test, mended"
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is still in-progress
    And the body of TASK-2026-02-09-001 is now:
      """
      Do it.

      ## Work Log

      - 2026-02-09T21:10:00.000Z Notes: A flaky test, mended
      """

  Scenario: Status update with blockers only
    Given the message says payload.blockers is ["API rate limit", "Test flake"]
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is still in-progress
    And the body of TASK-2026-02-09-001 is now:
      """
      Do it.

      ## Work Log

      - 2026-02-09T21:10:00.000Z Blockers: API rate limit; Test flake
      """

  Scenario: Status update creates Work Log section if missing
    Given the body of TASK-2026-02-09-001 is:
      """
      # Users

      Every route of the user service.
      """
    And the message says payload.progress is "Read the old code"
    When the message is sent
    Then the answer is applied
    And the body of TASK-2026-02-09-001 is now:
      """
      # Users

      Every route of the user service.

      ## Work Log

      - 2026-02-09T21:10:00.000Z Progress: Read the old code
      """

  Scenario: Status update appends to existing Work Log
    Given the body of TASK-2026-02-09-001 is:
      """
      Every route of the user service.

      ## Work Log

      - 2026-02-09T20:58:00.000Z Progress: Read the old code

      ## Open questions

      Who owns the login page?
      """
    And the message says payload.notes is "Wrote the first test"
    When the message is sent
    Then the answer is applied
    And the body of TASK-2026-02-09-001 is now:
      """
      Every route of the user service.

      ## Work Log

      - 2026-02-09T20:58:00.000Z Progress: Read the old code
      - 2026-02-09T21:10:00.000Z Notes: Wrote the first test

      ## Open questions

      Who owns the login page?
      """

  Scenario: Idempotent status update - already in target status
    Given a task TASK-2026-02-09-002 with status blocked
    And a status.update on TASK-2026-02-09-002 from swe-backend
    And the message says payload.status is "blocked"
    When the message is sent
    Then the answer is noop
    And no task and no run has changed
    When the message says payload.notes is "Asked again for the key"
    And the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-002 is still blocked
    And the body of TASK-2026-02-09-002 is now:
      """
      Do it.

      ## Work Log

      - 2026-02-09T21:10:00.000Z Notes: Asked again for the key
      """
