# Seed 001, cross-cutting.
Feature: Error Resilience

  What goes wrong with one message stops no other.

  # A commit counts from the moment it is in the journal. If the files cannot follow, whoever comes
  # next is told so, and once the way is free the files catch up.
  Scenario: Protocol router continues on handler error
    Given swe-backend works on TASK-2026-02-09-001
    And swe-qa works on TASK-2026-02-09-002
    And a plain file stands where the folder journal/tmp should be
    And a completion.report on TASK-2026-02-09-001 from swe-backend
    When the message is sent
    Then what comes is an error
    Given a status.update on TASK-2026-02-09-002 from swe-qa
    And the message says payload.progress is "Halfway"
    When the message is sent
    Then the router gives an error about journal/tmp
    When the plain file at journal/tmp is cleared away
    And the same message is sent again
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now in-progress
    And the body of TASK-2026-02-09-002 is now:
      """
      Do it.

      ## Work Log

      - 2026-02-09T21:10:00.000Z Progress: Halfway
      """
    # Who is not sure that a report went through sends it again.
    Given a completion.report on TASK-2026-02-09-001 from swe-backend
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now review

  Scenario: Invalid transition is silently skipped
    Given a task TASK-2026-02-09-001 with status done
    And swe-backend left a result for TASK-2026-02-09-001 with outcome done
    And a task TASK-2026-02-09-002 with status backlog
    And swe-backend has written the outputs of TASK-2026-02-09-002
    And a completion.report on TASK-2026-02-09-001 from swe-backend
    And the message says payload.outcome is "partial"
    When the message is sent
    Then the answer is noop, task_closed
    And the status of TASK-2026-02-09-001 is still done
    And the record has these new lines:
      | type                      |
      | protocol.message.received |
    And no task and no run has changed
    # A task that is not finished keeps the report; only the move is left out.
    Given a completion.report on TASK-2026-02-09-002 from swe-backend
    And the message says payload.outcome is "partial"
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-002 is still backlog
    And the run result of TASK-2026-02-09-002 is what the message says
    And the record has these new lines:
      | type                      | payload.reason     | payload.detail                            |
      | protocol.message.received |                    |                                           |
      | task.completed            |                    |                                           |
      | protocol.message.warning  | invalid_transition | a task cannot move from backlog to review |

  Scenario: Missing summary files do not block completion
    Given swe-backend works on TASK-2026-02-09-001
    And a completion.report on TASK-2026-02-09-001 from swe-backend
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-001 is now review
    And the record has these new lines:
      | type                      | payload.reason               | payload.detail     |
      | protocol.message.received |                              |                    |
      | task.completed            |                              |                    |
      | protocol.message.warning  | summary_file_not_found       | outputs/summary.md |
      | protocol.message.warning  | handoff_file_not_found       | outputs/handoff.md |
      | task.transitioned         | All acceptance criteria met. |                    |
