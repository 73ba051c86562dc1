# Seed 001, TASK-059.
Feature: Completion Outcome Mapping

  Which way a task goes depends on the outcome, on whether somebody must look at the work first,
  and on where the task already is.

  Background:
    Given swe-backend works on TASK-2026-02-09-001
    And a completion.report on TASK-2026-02-09-001 from swe-backend

  Scenario: Resolve transitions for outcome=done with review required
    Given the message says payload.outcome is "done"
    When the message is sent
    Then TASK-2026-02-09-001 has gone from in-progress to review

  Scenario: Resolve transitions for outcome=done without review required
    Given TASK-2026-02-09-001 needs no review
    And the message says payload.outcome is "done"
    When the message is sent
    Then TASK-2026-02-09-001 has gone from in-progress to review to done

  Scenario: Resolve transitions for outcome=blocked
    Given the message says payload.outcome is "blocked"
    When the message is sent
    Then TASK-2026-02-09-001 has gone from in-progress to blocked

  # Only "done" asks whether a review is needed; the others always go where they go.
  Scenario: Resolve transitions for outcome=needs_review
    Given TASK-2026-02-09-001 needs no review
    And the message says payload.outcome is "needs_review"
    When the message is sent
    Then TASK-2026-02-09-001 has gone from in-progress to review

  Scenario: Resolve transitions for outcome=partial
    Given TASK-2026-02-09-001 needs no review
    And the message says payload.outcome is "partial"
    When the message is sent
    Then TASK-2026-02-09-001 has gone from in-progress to review

  Scenario: Resolve transitions when task already in target status
    Given a task TASK-2026-02-09-002 with status review
    And a completion.report on TASK-2026-02-09-002 from swe-backend
    And the message says payload.outcome is "partial"
    When the message is sent
    Then the answer is applied
    And the status of TASK-2026-02-09-002 is still review
