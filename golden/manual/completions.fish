# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_adjutant_global_optspecs
    string join \n data= json h/help V/version
end

function __fish_adjutant_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_adjutant_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_adjutant_using_subcommand
    set -l cmd (__fish_adjutant_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c adjutant -n "__fish_adjutant_needs_command" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_needs_command" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_needs_command" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_needs_command" -s V -l version -d 'Print version'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "init" -d 'Create a data folder for a project: DIR/.adjutant'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "task" -d 'Create, show and change tasks'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "approve" -d 'Approve work in review: merge it if `merge` is configured, and mark the task as done'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "reject" -d 'Reject work in review: the task becomes ready and runs again'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "answer" -d 'Answer a question of an agent: the task becomes ready, and its next run gets the answer'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "inbox" -d 'Show everything that needs you: reviews, questions, failed tasks and late reports'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "why" -d 'Explain why a task is not running'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "tick" -d 'Run the scheduler once: assign ready tasks and clean up after runs that have ended'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "trust" -d 'Accept what the configuration and the stories would run, or the checks in the file of a task'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "undo" -d 'Restore uncommitted work that an agent left behind'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "up" -d 'Start the daemon: assign tasks to agents, supervise runs, serve the board'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "down" -d 'Stop the daemon, and wait until it has exited'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "status" -d 'Show whether the daemon is running, the current runs, and the number of tasks by status'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "open" -d 'Print a sign-in link for the board of the running daemon, and open it on a desktop'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "top" -d 'Show the board in the terminal: the inbox, running and waiting tasks, and their output'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "logs" -d 'Show the output of the agent that worked on a task'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "agents" -d 'List the configured agents with their load, and agents installed on this machine'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "send" -d 'Send a message or document in any protocol, and print the answer'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "report" -d 'Report on the current run, from inside it (for agents)'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "beat" -d 'Send a heartbeat for the current run (for agents that run elsewhere)'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "mcp" -d 'Serve MCP (Model Context Protocol) over standard input and output'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "session-end" -d 'Apply results that agents left in `run_result.json`'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "events" -d 'Show the event log'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "mission" -d 'Print the work order of a task, in any protocol'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "check" -d 'Validate a document, and list every problem'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "schema" -d 'Print the JSON Schema of a document, or the `OpenAPI` document of the HTTP API'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "story" -d 'Move stories through the step pipeline, from scenarios to a commit'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "doctor" -d 'Find problems in the data folder, and repair them with --fix'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "export" -d 'Export the project to one file: tasks, runs and the event log'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "fleet" -d 'Show the nodes of a fleet, make the key of a node, or restore a fleet'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "import" -d 'Create a data folder from an exported project: DIR/.adjutant'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "demo" -d 'Watch three scripted agents work on twelve tasks, with failures, in a temporary folder'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "completions" -d 'Print the completion script of a shell'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "candidates" -d 'Print the values that complete a word'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "man" -d 'Print the manual page, or write one for every command'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "help" -d 'List the commands, or show the help of one command'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "version" -d 'Print the version of this program'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "shim" -d 'Supervise one run; its instructions come on standard input'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "check-shim" -d 'Supervise one command that checks work; its instructions come on standard input'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "network-forwarder" -d 'Relay connections of a run to its proxy, and print a line when that is ready'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "sandbox-stage" -d 'Give up rights inside a sandbox and become the command that it is made for'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "script-agent" -d 'Run the built-in agent that plays a script'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "acp-agent" -d 'Run an agent over the Agent Client Protocol'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "webhook-agent" -d 'Hand a run to a remote agent over HTTP'
complete -c adjutant -n "__fish_adjutant_using_subcommand init" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand init" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand init" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "add" -d 'Create a task'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "list" -d 'List tasks, one per line'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "show" -d 'Show a task: its fields, attempts, checks and description'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "diff" -d 'Show the changes that were made for a task, as a diff'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "edit" -d 'Change a task; without options, open it in your editor'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "move" -d 'Move a task to another status'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "cancel" -d 'Cancel a task, and stop its run'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "retry" -d 'Run a task again that is blocked or was given up, or end its wait for the next attempt'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "copy" -d 'Create a task with the content of another one'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "reopen" -d 'Return a cancelled task to the backlog'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry copy reopen import" -f -a "import" -d 'Create tasks from a file: a Markdown checklist, CSV or JSON'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l body -d 'The full description, in Markdown' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l body-file -d 'A file with the full description; `-` is standard input' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l priority -d 'How urgent the task is: critical, high, normal or low' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l agent -d 'Assign it to this agent only' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l tag -d 'Assign it only to agents with this tag; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l depends-on -d 'Do not start before this task is done; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l parent -d 'The task that this one is part of' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l review -d 'Whether a person must approve finished work' -r -f -a "required\t''
none\t''"
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l status -d 'The first status: `ready` may start at once, `backlog` waits until you move it to ready' -r -f -a "backlog\t''
ready\t''"
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l resource -d 'Run at most one task with this resource at a time' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l due -d 'When the task is due: 2026-12-01, tomorrow, friday, 18:00, \'in 3 days\' or an RFC 3339 time' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l check -d 'A command that must pass before the work counts as done, instead of the checks of the agent and the project; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l mode -d 'Only agents with this mode may do it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l role -d 'Only agents with this role may do it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l budget-usd -d 'The most that all its runs together may cost, in dollars' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l budget-tokens -d 'The most tokens that all its runs together may use' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l timeout -d 'The longest time a run may take, such as 1h30m, or off [default: the agent\'s]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l idle-timeout -d 'The longest time a run may print and report nothing, such as 15m, or off [default: the agent\'s]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l status -d 'Only tasks with this status; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l agent -d 'Only tasks that this agent works on or that are assigned to it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l epic -d 'Only tasks of this epic, with a summary line' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l tag -d 'Only tasks that have this tag; if repeated, only tasks that have all of them' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l text -d 'Only tasks with all these words in their title, or with this text in an id' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l limit -d 'Show at most N tasks' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l open -d 'Only tasks that are neither done nor cancelled'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from show" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from show" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from diff" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from diff" -l stat -d 'List the changed files with the number of added and removed lines'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from diff" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l title -d 'The new title' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l body -d 'The new body, in Markdown' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l body-file -d 'A file with the new body; `-` is standard input' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l priority -d 'The new priority: critical, high, normal or low' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l agent -d 'Assign it to this agent only' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l tag -d 'Replace the tags by this one; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l depends-on -d 'Replace the dependencies by this task; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l parent -d 'The task that this one is part of' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l review -d 'Whether a person must approve finished work' -r -f -a "required\t''
none\t''"
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l resource -d 'Run at most one task with this resource at a time' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l due -d 'When the task is due: 2026-12-01, tomorrow, friday, 18:00, \'in 3 days\' or an RFC 3339 time' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l check -d 'A command that must pass, instead of those it has; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l mode -d 'Only agents with this mode may do it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l role -d 'Only agents with this role may do it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l budget-usd -d 'The most that all its runs together may cost, in dollars' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l budget-tokens -d 'The most tokens that all its runs together may use' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l timeout -d 'The longest time a run may take, such as 1h30m, or off' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l idle-timeout -d 'The longest time a run may print and report nothing, such as 15m, or off' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-agent -d 'Assign it to any agent'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-tags -d 'Remove all tags'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-depends-on -d 'Remove all dependencies'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-parent -d 'Remove the parent task'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-resource -d 'Remove the resource'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-due -d 'Remove the due time'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-checks -d 'Remove its own checks: those of the agent or the project apply'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-mode -d 'Let agents of any mode do it'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-role -d 'Let agents of any role do it'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-budget -d 'Remove its budgets'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-timeout -d 'Remove its timeout: that of the agent applies'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-idle-timeout -d 'Remove its idle timeout: that of the agent applies'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from move" -l reason -d 'The reason, for the event log' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from move" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from move" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from move" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from cancel" -l reason -d 'The reason, for the event log' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from cancel" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from cancel" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from cancel" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from retry" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from retry" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from retry" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from copy" -l status -d 'The status of the new task' -r -f -a "backlog\t''
ready\t''"
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from copy" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from copy" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from copy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from reopen" -l reason -d 'The reason, for the event log' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from reopen" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from reopen" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from reopen" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from import" -l as -d 'The format [default: by the end of the file name, else Markdown]' -r -f -a "md\t''
csv\t''
json\t''"
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from import" -l status -d 'The status of tasks for which the file has none' -r -f -a "backlog\t''
ready\t''"
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from import" -l agent -d 'The agent of tasks for which the file has none' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from import" -l tag -d 'A tag of all tasks, added to those of the file; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from import" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from import" -l dry-run -d 'Show the tasks that would be created, and create none'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from import" -l again -d 'Also create tasks whose title exists already'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from import" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -l note -d 'A comment, for the event log' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -l allow-protected -d 'Also approve changes of files that say what Adjutant runs: .adjutant/ and the rules in .ai/'
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -l no-wait -d 'Do not wait for the merge: answer `queued`'
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand reject" -l reason -d 'What is wrong; the next work order includes it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand reject" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand reject" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand reject" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand answer" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand answer" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand answer" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and not __fish_seen_subcommand_from apply" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and not __fish_seen_subcommand_from apply" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and not __fish_seen_subcommand_from apply" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and not __fish_seen_subcommand_from apply" -f -a "apply" -d 'Apply a report that arrived too late to count'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and __fish_seen_subcommand_from apply" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and __fish_seen_subcommand_from apply" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand why" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand why" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand why" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -l now -d 'Use this time instead of the current one' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -l dry-run -d 'Show the actions without doing anything'
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand trust" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand trust" -l yes -d 'Accept without asking'
complete -c adjutant -n "__fish_adjutant_using_subcommand trust" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand trust" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -l attempt -d 'Restore the work of this attempt [default: the last in the list]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -l to -d 'Restore into this folder, which must be new or empty [default: the task\'s worktree]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l listen -d 'Serve the board and the HTTP API at this address; port 0 is any free port, `off` is no server [default: 127.0.0.1:7474, or any free port if that is in use]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l until-idle -d 'Exit when no task can run any more, with a summary'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l insecure -d 'Serve an address that other machines can reach without encryption, because a proxy with TLS or a private network protects the connections'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l wait -d 'Wait for another daemon on this folder to exit, instead of failing'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l detach -d 'Run in the background, log to `daemon.log` in the data folder, and return when it is up'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l detached -d 'Run as the background process of `--detach`'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -l drain -d 'Assign nothing more, and exit when the current runs have ended'
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -l stop -d 'Stop the current runs, and exit when they have ended'
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand status" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand status" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand status" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand open" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand open" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand open" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand top" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand top" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand top" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -l attempt -d 'Show the output of this attempt [default: the last]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -s f -l follow -d 'Print new output as it comes, until the run has ended'
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and not __fish_seen_subcommand_from test allow" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and not __fish_seen_subcommand_from test allow" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and not __fish_seen_subcommand_from test allow" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and not __fish_seen_subcommand_from test allow" -f -a "test" -d 'Test an agent: give it a tiny task in a temporary data folder'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and not __fish_seen_subcommand_from test allow" -f -a "allow" -d 'Let an agent with a list of hosts connect to one more host'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and __fish_seen_subcommand_from test" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and __fish_seen_subcommand_from test" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and __fish_seen_subcommand_from allow" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and __fish_seen_subcommand_from allow" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and __fish_seen_subcommand_from allow" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand send" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand send" -l lines -d 'Read one message per line, and print one answer per line'
complete -c adjutant -n "__fish_adjutant_using_subcommand send" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand send" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "done" -d 'Report that the work is done'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "partial" -d 'Report that a part of the work is done'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "blocked" -d 'Report that the work cannot continue'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "needs-review" -d 'Ask for a review of the work'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "progress" -d 'Report progress, while the work continues'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "accept" -d 'Accept a delegated task'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "refuse" -d 'Refuse a delegated task, and return it'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l summary -d 'The file with the summary of the work, in the folder of the task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l notes -d 'A short description of the work' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l tests -d 'How many tests there are, passed and failed' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l deliverable -d 'A file that the work produced; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l blocker -d 'What the work is blocked by; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l summary -d 'The file with the summary of the work, in the folder of the task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l notes -d 'A short description of the work' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l tests -d 'How many tests there are, passed and failed' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l deliverable -d 'A file that the work produced; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l blocker -d 'What the work is blocked by; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l summary -d 'The file with the summary of the work, in the folder of the task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l notes -d 'A short description of the work' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l tests -d 'How many tests there are, passed and failed' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l deliverable -d 'A file that the work produced; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l blocker -d 'What the work is blocked by; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l summary -d 'The file with the summary of the work, in the folder of the task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l notes -d 'A short description of the work' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l tests -d 'How many tests there are, passed and failed' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l deliverable -d 'A file that the work produced; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l blocker -d 'What the work is blocked by; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from progress" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from progress" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from progress" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from accept" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from accept" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from accept" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from refuse" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from refuse" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from refuse" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand beat" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand beat" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand beat" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand mcp" -l agent -d 'Fetch tasks as this agent' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand mcp" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand mcp" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand mcp" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand session-end" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand session-end" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand session-end" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l task -d 'Only events about this task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l type -d 'Only events of this type, e.g. `task.transitioned`, or group of types, e.g. `task`' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l since -d 'Only events since a time (yesterday, 18:00, 2026-12-01), an age (90s, 15m, 2h, 3d) or an event number' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l limit -d 'Show at most the last N events' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -s f -l follow -d 'Print new events as they come'
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand mission" -l dialect -d 'The protocol: aof, mission, `new_task` or prompt [default: that of the task, else prompt]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand mission" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand mission" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand mission" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand check" -l as -d 'The kind of document [default: recognised by its name and content]' -r -f -a "envelope\t'An AOF/1 message'
mission\t'A mission of Agent Protocol v1'
result\t'The result of a mission'
new_task\t'A delegation to a mode: `new_task`'
attempt_completion\t'The report on a `new_task`'
task\t'A task file'
state\t'The state of a story: `STATE.json`'
handoff\t'An executor\'s hand-over: `HANDOFF.md`'
step-rules\t'The step rules of a project: `step-rules.yaml`'"
complete -c adjutant -n "__fish_adjutant_using_subcommand check" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand check" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand schema" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand schema" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "init" -d 'Create the files that stories need; existing files are not overwritten'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "start" -d 'Start a story'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "next" -d 'Start the next step and print its prompt, or say what the story waits for'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "hook" -d 'Process the hand-over of an executor: run the tests and the check, and record the result'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "approve" -d 'Approve a review, or allow another attempt'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "reject" -d 'Reject a step; the reason decides which step is next'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "auto" -d 'Let agents do the steps of a story, until it is done or needs a person'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "status" -d 'Show the step, tests and changes of a story'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "list" -d 'List the stories with their step and status'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "rollback" -d 'Move a story back to an earlier step'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "reopen" -d 'Reopen a story that is done'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "report-error" -d 'Record that the executor failed; this counts as an attempt'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "poll" -d 'Check every story for an executor that has timed out'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "prompt" -d 'Print the prompt of the current step, or of a named one'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "why" -d 'Say what holds a story back'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt why diff" -f -a "diff" -d 'Show what changed since a story began'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l project -d 'The project\'s folder [default: the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l claude -d 'Call `story hook` when Claude Code stops: adds a hook to the project\'s settings'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l git -d 'Call `story hook` after a commit: adds a hook to the git repository'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l blocked-by -d 'A story that must be done first; may be repeated' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l auto -d 'Let agents do the steps'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l force -d 'Start again from the first step, even if the story is running or done'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l note -d 'A note for the next executor; its prompt includes it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l if-handed-over -d 'Do nothing if there is no hand-over yet'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l note -d 'A note for the next executor; its prompt includes it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l note -d 'A note for the next executor; its prompt includes it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l agent -d 'The agent that does the steps [default: any configured agent]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l off -d 'Start the steps by hand again'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from list" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from list" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from list" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l note -d 'A note for the next executor; its prompt includes it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l step -d 'The step to continue at' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l note -d 'A note for the next executor; its prompt includes it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from poll" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from poll" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from poll" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from poll" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from why" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from why" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from why" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from why" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from why" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from diff" -l project -d 'The project\'s folder [default: the project around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from diff" -l story -d 'The id of the story [default: the only story that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from diff" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from diff" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand doctor" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand doctor" -l fix -d 'Repair what can be repaired automatically, and list the repairs'
complete -c adjutant -n "__fish_adjutant_using_subcommand doctor" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand export" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand export" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand export" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status key restore" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status key restore" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status key restore" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status key restore" -f -a "status" -d 'Show the nodes, the leader, and how many commits each node is behind'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status key restore" -f -a "key" -d 'Print the name and the public key of this node, for `accepted_keys` on every node'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status key restore" -f -a "restore" -d 'Publish this folder as the data of the fleet, on servers that are new or lost their data'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from status" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from status" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from key" -l file -d 'The file with the key, relative to the data folder; it need not be the node\'s own key' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from key" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from key" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from key" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from restore" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from restore" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand import" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand import" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand import" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand demo" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand demo" -l keep -d 'Keep the folder, and print its path'
complete -c adjutant -n "__fish_adjutant_using_subcommand demo" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand demo" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand completions" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand completions" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand completions" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand candidates" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand candidates" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand candidates" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand man" -l dir -d 'Write a page for every command into this folder' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand man" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand man" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand man" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand help" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand help" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand help" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand version" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand version" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand version" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand shim" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand shim" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand shim" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand check-shim" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand check-shim" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand check-shim" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand network-forwarder" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand network-forwarder" -l start -d 'Start it as a process of its own, and return when it listens'
complete -c adjutant -n "__fish_adjutant_using_subcommand network-forwarder" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand network-forwarder" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand sandbox-stage" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand sandbox-stage" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand sandbox-stage" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand script-agent" -l steps -d 'Steps instead of a script, as JSON' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand script-agent" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand script-agent" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand script-agent" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand acp-agent" -l patience -d 'How many seconds the agent may take to start its session' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand acp-agent" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand acp-agent" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand acp-agent" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand webhook-agent" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else `.adjutant` in this folder or a parent]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand webhook-agent" -l json -d 'Print JSON: one document, or one per line for streams'
complete -c adjutant -n "__fish_adjutant_using_subcommand webhook-agent" -s h -l help -d 'Print help'

function __adjutant_values
    set -l words (commandline -opc) (commandline -ct)
    adjutant candidates -- $words[2..] 2>/dev/null
end
complete -c adjutant -a "(__adjutant_values)"
