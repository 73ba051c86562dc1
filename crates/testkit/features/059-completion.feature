# Seed 001, TASK-059. SPEC §3: a report is applied when it arrives.
Feature: Completion Report Processing

  A report is kept as the result of the run, and moves the task where its outcome leads.

  Background:
    Given swe-backend works on TASK-2026-02-09-001
    And swe-backend has written the outputs of TASK-2026-02-09-001
    And a completion.report on TASK-2026-02-09-001 from swe-backend

  Scenario: Process completion report with outcome=done
    Given the message says payload.notes is "All of it works"
    When the message is sent
    Then the answer is applied
    And the run result of TASK-2026-02-09-001 is:
      """
      {
        "taskId": "TASK-2026-02-09-001",
        "agentId": "swe-backend",
        "completedAt": "2026-02-09T21:10:00.000Z",
        "outcome": "done",
        "summaryRef": "outputs/summary.md",
        "handoffRef": "outputs/handoff.md",
        "deliverables": [],
        "tests": {"total": 10, "passed": 10, "failed": 0},
        "blockers": [],
        "notes": "All of it works"
      }
      """
    And the status of TASK-2026-02-09-001 is now review
    And the front matter of TASK-2026-02-09-001 has no lease
    And there is a file tasks/review/TASK-2026-02-09-001/outputs/summary.md
    And the record has these new lines:
      | type                      | payload.from | payload.to | payload.reason  |
      | protocol.message.received |              |            |                 |
      | task.completed            |              |            |                 |
      | task.transitioned         | in-progress  | review     | All of it works |

  Scenario: Process completion report with outcome=done and reviewRequired=false
    Given TASK-2026-02-09-001 needs no review
    And the message says payload.notes is "All of it works"
    When the message is sent
    Then the answer is applied
    And the run result of TASK-2026-02-09-001 is what the message says
    And the status of TASK-2026-02-09-001 is now done
    And there is a file tasks/done/TASK-2026-02-09-001/outputs/summary.md
    And the record has these new lines:
      | type                      | payload.from | payload.to | payload.reason  |
      | protocol.message.received |              |            |                 |
      | task.completed            |              |            |                 |
      | task.transitioned         | in-progress  | review     | All of it works |
      | task.transitioned         | review       | done       | All of it works |

  Scenario: Process completion report with outcome=blocked
    Given the message says payload.outcome is "blocked"
    And the message says payload.blockers is ["API key needed", "The staging server is down"]
    When the message is sent
    Then the answer is applied
    And the run result of TASK-2026-02-09-001 is what the message says
    And the status of TASK-2026-02-09-001 is now blocked
    And the record has these new lines:
      | type                      | payload.from | payload.to | payload.reason                             |
      | protocol.message.received |              |            |                                            |
      | task.completed            |              |            |                                            |
      | task.transitioned         | in-progress  | blocked    | API key needed; The staging server is down |

  Scenario: Process completion report with outcome=needs_review
    Given the message says payload.outcome is "needs_review"
    And the message says payload.notes is "Is this the right table?"
    When the message is sent
    Then the answer is applied
    And the run result of TASK-2026-02-09-001 is what the message says
    And the status of TASK-2026-02-09-001 is now review
    And the record has these new lines:
      | type                      | payload.from | payload.to | payload.reason           |
      | protocol.message.received |              |            |                          |
      | task.completed            |              |            |                          |
      | task.transitioned         | in-progress  | review     | Is this the right table? |

  Scenario: Process completion report with outcome=partial
    Given the message says payload.outcome is "partial"
    And the message says payload.notes is "Half of it is there"
    When the message is sent
    Then the answer is applied
    And the run result of TASK-2026-02-09-001 is what the message says
    And the status of TASK-2026-02-09-001 is now review
    And the record has these new lines:
      | type                      | payload.from | payload.to | payload.reason      |
      | protocol.message.received |              |            |                     |
      | task.completed            |              |            |                     |
      | task.transitioned         | in-progress  | review     | Half of it is there |

  Scenario: Idempotent completion - task already in target status
    Given a task TASK-2026-02-09-002 with status review
    And swe-backend has written the outputs of TASK-2026-02-09-002
    And a completion.report on TASK-2026-02-09-002 from swe-backend
    And the message says payload.outcome is "partial"
    When the message is sent
    Then the answer is applied
    And the run result of TASK-2026-02-09-002 is what the message says
    And the status of TASK-2026-02-09-002 is still review
    And the record has these new lines:
      | type                      | payload.outcome |
      | protocol.message.received |                 |
      | task.completed            | partial         |
