# Seed 001, TASK-057.
Feature: Completion Report Payload Validation

  A report says what came of the work, where the summary lies, how the tests went, and anything else.

  Background:
    Given swe-backend works on TASK-2026-02-09-057
    And a completion.report on TASK-2026-02-09-057 from swe-backend

  Scenario Outline: Valid completion outcome values
    Given the message says payload.outcome is "<outcome>"
    When the message is sent
    Then it is read as a completion.report
    And the answer is applied
    And the run result of TASK-2026-02-09-057 is what the message says

    Examples:
      | outcome      |
      | done         |
      | blocked      |
      | needs_review |
      | partial      |

  Scenario: Invalid completion outcome
    Given the message says payload.outcome is "in-progress"
    When the message is sent
    Then the answer is rejected, invalid_envelope:
      | payload.outcome: must be one of: done, blocked, needs_review, partial |
    And no task and no run has changed

  Scenario: Test report with valid counts
    Given the message says payload.tests is {"total": 10, "passed": 8, "failed": 2}
    When the message is sent
    Then the answer is applied
    And the run result of TASK-2026-02-09-057 is what the message says
    # One more than there are is one too many.
    When the message says payload.tests is {"total": 10, "passed": 9, "failed": 2}
    And the message is sent
    Then the answer is rejected, invalid_envelope:
      | payload.tests: passed and failed together must not exceed total |
    And no task and no run has changed

  Scenario: Test report with negative values
    Given the message says payload.tests.failed is -1
    When the message is sent
    Then the answer is rejected, invalid_envelope:
      | payload.tests.failed: must be non-negative |
    And no task and no run has changed

  Scenario: Empty deliverables array defaults correctly
    Given the message has no payload.deliverables
    When the message is sent
    Then the answer is applied
    And the run result of TASK-2026-02-09-057 is:
      """
      {
        "taskId": "TASK-2026-02-09-057",
        "agentId": "swe-backend",
        "completedAt": "2026-02-09T21:10:00.000Z",
        "outcome": "done",
        "summaryRef": "outputs/summary.md",
        "handoffRef": "outputs/handoff.md",
        "deliverables": [],
        "tests": {"total": 10, "passed": 10, "failed": 0},
        "blockers": [],
        "notes": "All acceptance criteria met."
      }
      """
