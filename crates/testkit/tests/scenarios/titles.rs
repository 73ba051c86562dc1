//! The required scenarios: every title of seed 001, and the examples of seed 000 on resuming.

/// Each feature file by its name, with the titles of its scenarios in order.
pub(crate) const FEATURES: &[(&str, &[&str])] = &[
    (
        "057-envelope",
        &[
            "Valid completion report envelope",
            "Valid status update envelope",
            "Valid handoff request envelope",
            "Valid handoff acknowledgment envelopes",
            "Invalid protocol field",
            "Invalid version field",
            "Missing required envelope fields",
            "Invalid taskId format",
            "Invalid sentAt timestamp",
        ],
    ),
    (
        "057-completion-payload",
        &[
            "Valid completion outcome values",
            "Invalid completion outcome",
            "Test report with valid counts",
            "Test report with negative values",
            "Empty deliverables array defaults correctly",
        ],
    ),
    (
        "057-status-payload",
        &[
            "Status update must have at least one field",
            "Status update with only progress",
            "Status update with blockers array",
        ],
    ),
    (
        "057-handoff-payload",
        &[
            "Valid handoff request with all fields",
            "Handoff request with minimal fields",
            "Invalid dueBy timestamp",
        ],
    ),
    (
        "057-run-result",
        &[
            "Write run_result.json to runs directory",
            "Read existing run_result.json",
            "Read non-existent run_result.json",
            "Write run_result.json with all optional fields",
        ],
    ),
    (
        "058-parsing",
        &[
            "Parse message with protocol field in payload",
            "Parse message with AOF/1 prefix",
            "Parse plain JSON message",
            "Ignore non-protocol message",
            "Reject invalid JSON",
            "Reject malformed envelope",
        ],
    ),
    (
        "058-routing",
        &[
            "Route completion.report message",
            "Route status.update message",
            "Route handoff.request message",
            "Route handoff.accepted message",
            "Route handoff.rejected message",
            "Handle unknown message type",
        ],
    ),
    (
        "058-errors",
        &[
            "Handle task not found in completion report",
            "Handle task not found in status update",
            "Handle task not found in handoff request",
        ],
    ),
    (
        "059-completion",
        &[
            "Process completion report with outcome=done",
            "Process completion report with outcome=done and reviewRequired=false",
            "Process completion report with outcome=blocked",
            "Process completion report with outcome=needs_review",
            "Process completion report with outcome=partial",
            "Idempotent completion - task already in target status",
        ],
    ),
    (
        "059-session-end",
        &[
            "Session end with run_result.json applies transitions",
            "Session end without run_result.json does nothing",
            "Session end with multiple in-progress tasks",
        ],
    ),
    (
        "059-outcomes",
        &[
            "Resolve transitions for outcome=done with review required",
            "Resolve transitions for outcome=done without review required",
            "Resolve transitions for outcome=blocked",
            "Resolve transitions for outcome=needs_review",
            "Resolve transitions for outcome=partial",
            "Resolve transitions when task already in target status",
        ],
    ),
    (
        "059-status-update",
        &[
            "Status update with explicit status field",
            "Status update with progress only (no status field)",
            "Status update with notes only",
            "Status update with blockers only",
            "Status update creates Work Log section if missing",
            "Status update appends to existing Work Log",
            "Idempotent status update - already in target status",
        ],
    ),
    (
        "060-handoff-request",
        &[
            "Valid handoff request creates artifacts",
            "Handoff artifacts include all payload fields",
            "Handoff request updates child metadata with delegation depth",
            "Nested delegation rejected - depth exceeds limit",
            "Handoff request with taskId mismatch",
            "Handoff request with missing parent task",
        ],
    ),
    (
        "060-handoff-acknowledgement",
        &[
            "Handoff accepted acknowledgment",
            "Handoff rejected acknowledgment transitions to blocked",
            "Handoff acknowledgment with missing task",
        ],
    ),
    (
        "060-delegation-depth",
        &[
            "Root task has delegation depth 0",
            "First-level delegation sets depth to 1",
            "Second-level delegation is rejected",
            "Depth guard checks parent depth, not child depth",
        ],
    ),
    (
        "061-detection",
        &[
            "Detect stale heartbeat with TTL expiry",
            "Heartbeat not stale if TTL not exceeded",
            "Task with no heartbeat file is not flagged as stale",
        ],
    ),
    (
        "061-recovery",
        &[
            "Stale heartbeat with no run_result.json reclaims task",
            "Stale heartbeat with outcome=partial moves to review",
            "Stale heartbeat with outcome=needs_review moves to review",
            "Stale heartbeat with outcome=blocked moves to blocked",
            "Stale heartbeat with outcome=done and reviewRequired=false completes task",
            "Stale heartbeat with outcome=done and reviewRequired=true goes to review",
        ],
    ),
    ("061-expiry", &["Mark run artifact expired on reclaim", "Expired artifact includes reason"]),
    (
        "061-scheduler",
        &[
            "Scheduler poll detects and processes stale heartbeats",
            "Stale heartbeat action does not count as dispatch action",
            "Multiple stale heartbeats processed independently",
        ],
    ),
    (
        "000-resume",
        &[
            "Example 8: Resume Protocol (Stale Heartbeat with run_result)",
            "Example 9: Resume Protocol (Stale Heartbeat without run_result)",
        ],
    ),
    (
        "cross-idempotency",
        &[
            "Duplicate completion reports are idempotent",
            "Duplicate handoff requests are idempotent",
        ],
    ),
    (
        "cross-resilience",
        &[
            "Protocol router continues on handler error",
            "Invalid transition is silently skipped",
            "Missing summary files do not block completion",
        ],
    ),
];
