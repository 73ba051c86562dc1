#compdef adjutant

autoload -U is-at-least

_adjutant() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_adjutant_commands" \
"*::: :->adjutant" \
&& ret=0
    case $state in
    (adjutant)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:adjutant-command-$line[1]:"
        case $line[1] in
            (init)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'::dir -- The project'\''s folder \[default\: this one\]:_files' \
&& ret=0
;;
(task)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_adjutant__subcmd__task_commands" \
"*::: :->task" \
&& ret=0

    case $state in
    (task)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:adjutant-task-command-$line[1]:"
        case $line[1] in
            (add)
_arguments "${_arguments_options[@]}" : \
'(--body-file)--body=[The full description, in Markdown]:TEXT:_default' \
'--body-file=[A file with the full description; \`-\` is standard input]:FILE:_files' \
'--priority=[How urgent the task is\: critical, high, normal or low]:P:_default' \
'--agent=[Assign it to this agent only]:A:_adjutant_agents' \
'*--tag=[Assign it only to agents with this tag; may be repeated]:T:_default' \
'*--depends-on=[Do not start before this task is done; may be repeated]:ID:_adjutant_tasks' \
'--parent=[The task that this one is part of]:ID:_adjutant_tasks' \
'--review=[Whether a person must approve finished work]:REVIEW:(required none)' \
'--status=[The first status\: \`ready\` may start at once, \`backlog\` waits until you move it to ready]:STATUS:(backlog ready)' \
'--resource=[Run at most one task with this resource at a time]:R:_default' \
'--due=[When the task is due\: 2026-12-01, tomorrow, friday, 18\:00, '\''in 3 days'\'' or an RFC 3339 time]:TIME:_default' \
'*--check=[A command that must pass before the work counts as done, instead of the checks of the agent and the project; may be repeated]:CMD:_default' \
'--mode=[Only agents with this mode may do it]:M:_default' \
'--role=[Only agents with this role may do it]:R:_default' \
'--budget-usd=[The most that all its runs together may cost, in dollars]:USD:_default' \
'--budget-tokens=[The most tokens that all its runs together may use]:N:_default' \
'--timeout=[The longest time a run may take, such as 1h30m, or off \[default\: the agent'\''s\]]:TIME:_default' \
'--idle-timeout=[The longest time a run may print and report nothing, such as 15m, or off \[default\: the agent'\''s\]]:TIME:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':title -- What to do, in one line:_default' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'*--status=[Only tasks with this status; may be repeated]:S:_default' \
'--agent=[Only tasks that this agent works on or that are assigned to it]:A:_adjutant_agents' \
'--epic=[Only tasks of this epic, with a summary line]:E:_default' \
'*--tag=[Only tasks that have this tag; if repeated, only tasks that have all of them]:T:_default' \
'--text=[Only tasks with all these words in their title, or with this text in an id]:WORDS:_default' \
'--limit=[Show at most N tasks]:N:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--open[Only tasks that are neither done nor cancelled]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The id of the task:_adjutant_tasks' \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--stat[List the changed files with the number of added and removed lines]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':id -- The id of the task:_adjutant_tasks' \
&& ret=0
;;
(edit)
_arguments "${_arguments_options[@]}" : \
'--title=[The new title]:TEXT:_default' \
'(--body-file)--body=[The new body, in Markdown]:TEXT:_default' \
'--body-file=[A file with the new body; \`-\` is standard input]:FILE:_files' \
'--priority=[The new priority\: critical, high, normal or low]:P:_default' \
'--agent=[Assign it to this agent only]:A:_adjutant_agents' \
'*--tag=[Replace the tags by this one; may be repeated]:T:_default' \
'*--depends-on=[Replace the dependencies by this task; may be repeated]:ID:_adjutant_tasks' \
'--parent=[The task that this one is part of]:ID:_adjutant_tasks' \
'--review=[Whether a person must approve finished work]:REVIEW:(required none)' \
'--resource=[Run at most one task with this resource at a time]:R:_default' \
'--due=[When the task is due\: 2026-12-01, tomorrow, friday, 18\:00, '\''in 3 days'\'' or an RFC 3339 time]:TIME:_default' \
'*--check=[A command that must pass, instead of those it has; may be given more than once]:CMD:_default' \
'--mode=[Only agents with this mode may do it]:M:_default' \
'--role=[Only agents with this role may do it]:R:_default' \
'--budget-usd=[The most that all its runs together may cost, in dollars]:USD:_default' \
'--budget-tokens=[The most tokens that all its runs together may use]:N:_default' \
'--timeout=[The longest time a run may take, such as 1h30m, or off]:TIME:_default' \
'--idle-timeout=[The longest time a run may print and report nothing, such as 15m, or off]:TIME:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'(--agent)--no-agent[Assign it to any agent]' \
'(--tag)--no-tags[Remove all tags]' \
'(--depends-on)--no-depends-on[Remove all dependencies]' \
'(--parent)--no-parent[Remove the parent task]' \
'(--resource)--no-resource[Remove the resource]' \
'(--due)--no-due[Remove the due time]' \
'(--check)--no-checks[Remove its own checks\: those of the agent or the project apply]' \
'(--mode)--no-mode[Let agents of any mode do it]' \
'(--role)--no-role[Let agents of any role do it]' \
'(--budget-usd --budget-tokens)--no-budget[Remove its budgets]' \
'(--timeout)--no-timeout[Remove its timeout\: that of the agent applies]' \
'(--idle-timeout)--no-idle-timeout[Remove its idle timeout\: that of the agent applies]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The id of the task:_adjutant_tasks' \
&& ret=0
;;
(move)
_arguments "${_arguments_options[@]}" : \
'--reason=[The reason, for the event log]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'*::ids_and_status -- The ids of the tasks, and then their new status, e.g. ready, backlog or blocked:_adjutant_tasks' \
&& ret=0
;;
(cancel)
_arguments "${_arguments_options[@]}" : \
'--reason=[The reason, for the event log]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'*::ids -- The ids of the tasks:_adjutant_tasks' \
&& ret=0
;;
(retry)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'*::ids -- The ids of the tasks:_adjutant_tasks' \
&& ret=0
;;
(copy)
_arguments "${_arguments_options[@]}" : \
'--status=[The status of the new task]:STATUS:(backlog ready)' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':id -- The id of the task:_adjutant_tasks' \
&& ret=0
;;
(reopen)
_arguments "${_arguments_options[@]}" : \
'--reason=[The reason, for the event log]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'*::ids -- The ids of the tasks:_adjutant_tasks' \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
'--as=[The format \[default\: by the end of the file name, else Markdown\]]:FORMAT:(md csv json)' \
'--status=[The status of tasks for which the file has none]:STATUS:(backlog ready)' \
'--agent=[The agent of tasks for which the file has none]:A:_adjutant_agents' \
'*--tag=[A tag of all tasks, added to those of the file; may be given more than once]:T:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--dry-run[Show the tasks that would be created, and create none]' \
'--again[Also create tasks whose title exists already]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':file -- The file; `-` is standard input:_files' \
&& ret=0
;;
        esac
    ;;
esac
;;
(approve)
_arguments "${_arguments_options[@]}" : \
'--note=[A comment, for the event log]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--allow-protected[Also approve changes of files that say what Adjutant runs\: .adjutant/ and the rules in .ai/]' \
'--no-wait[Do not wait for the merge\: answer \`queued\`]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'*::ids -- The ids of the tasks:_adjutant_tasks' \
&& ret=0
;;
(reject)
_arguments "${_arguments_options[@]}" : \
'--reason=[What is wrong; the next work order includes it]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'*::ids -- The ids of the tasks:_adjutant_tasks' \
&& ret=0
;;
(answer)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The id of the task:_adjutant_tasks' \
':text -- The answer; for a permission request, its number and `allow` or `deny`:_default' \
&& ret=0
;;
(inbox)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_adjutant__subcmd__inbox_commands" \
"*::: :->inbox" \
&& ret=0

    case $state in
    (inbox)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:adjutant-inbox-command-$line[1]:"
        case $line[1] in
            (apply)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The id of the task:_adjutant_tasks' \
':name -- The file name of the report, as the inbox shows it:_default' \
&& ret=0
;;
        esac
    ;;
esac
;;
(why)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The id of the task:_adjutant_tasks' \
&& ret=0
;;
(tick)
_arguments "${_arguments_options[@]}" : \
'--now=[Use this time instead of the current one]:TIME:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--dry-run[Show the actions without doing anything]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(trust)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--yes[Accept without asking]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'*::ids -- The ids of tasks whose checks to accept \[default\: accept adjutant.toml\]:_adjutant_tasks' \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
'--attempt=[Restore the work of this attempt \[default\: the last in the list\]]:N:_default' \
'--to=[Restore into this folder, which must be new or empty \[default\: the task'\''s worktree\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::id -- The id of the task:_adjutant_tasks' \
&& ret=0
;;
(up)
_arguments "${_arguments_options[@]}" : \
'--listen=[Serve the board and the HTTP API at this address; port 0 is any free port, \`off\` is no server \[default\: 127.0.0.1\:7474, or any free port if that is in use\]]:ADDR:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--until-idle[Exit when no task can run any more, with a summary]' \
'--insecure[Serve an address that other machines can reach without encryption, because a proxy with TLS or a private network protects the connections]' \
'--wait[Wait for another daemon on this folder to exit, instead of failing]' \
'(--wait)--detach[Run in the background, log to \`daemon.log\` in the data folder, and return when it is up]' \
'(--detach)--detached[Run as the background process of \`--detach\`]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(down)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--drain[Assign nothing more, and exit when the current runs have ended]' \
'(--drain)--stop[Stop the current runs, and exit when they have ended]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(open)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(logs)
_arguments "${_arguments_options[@]}" : \
'--attempt=[Show the output of this attempt \[default\: the last\]]:N:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'-f[Print new output as it comes, until the run has ended]' \
'--follow[Print new output as it comes, until the run has ended]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The id of the task:_adjutant_tasks' \
&& ret=0
;;
(agents)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_adjutant__subcmd__agents_commands" \
"*::: :->agents" \
&& ret=0

    case $state in
    (agents)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:adjutant-agents-command-$line[1]:"
        case $line[1] in
            (test)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':name -- The name of the agent in adjutant.toml:_adjutant_agents' \
&& ret=0
;;
(allow)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':agent -- The name of the agent:_adjutant_agents' \
':host -- The host, or the host and its port:_default' \
&& ret=0
;;
        esac
    ;;
esac
;;
(send)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--lines[Read one message per line, and print one answer per line]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'::file -- The file with the message; `-` is standard input:_files' \
&& ret=0
;;
(report)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_adjutant__subcmd__report_commands" \
"*::: :->report" \
&& ret=0

    case $state in
    (report)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:adjutant-report-command-$line[1]:"
        case $line[1] in
            (done)
_arguments "${_arguments_options[@]}" : \
'--summary=[The file with the summary of the work, in the folder of the task]:REF:_default' \
'--notes=[A short description of the work]:TEXT:_default' \
'--tests=[How many tests there are, passed and failed]:TOTAL/PASSED/FAILED:_default' \
'*--deliverable=[A file that the work produced; may be repeated]:PATH:_default' \
'*--blocker=[What the work is blocked by; may be repeated]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(partial)
_arguments "${_arguments_options[@]}" : \
'--summary=[The file with the summary of the work, in the folder of the task]:REF:_default' \
'--notes=[A short description of the work]:TEXT:_default' \
'--tests=[How many tests there are, passed and failed]:TOTAL/PASSED/FAILED:_default' \
'*--deliverable=[A file that the work produced; may be repeated]:PATH:_default' \
'*--blocker=[What the work is blocked by; may be repeated]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(blocked)
_arguments "${_arguments_options[@]}" : \
'--summary=[The file with the summary of the work, in the folder of the task]:REF:_default' \
'--notes=[A short description of the work]:TEXT:_default' \
'--tests=[How many tests there are, passed and failed]:TOTAL/PASSED/FAILED:_default' \
'*--deliverable=[A file that the work produced; may be repeated]:PATH:_default' \
'*--blocker=[What the work is blocked by; may be repeated]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(needs-review)
_arguments "${_arguments_options[@]}" : \
'--summary=[The file with the summary of the work, in the folder of the task]:REF:_default' \
'--notes=[A short description of the work]:TEXT:_default' \
'--tests=[How many tests there are, passed and failed]:TOTAL/PASSED/FAILED:_default' \
'*--deliverable=[A file that the work produced; may be repeated]:PATH:_default' \
'*--blocker=[What the work is blocked by; may be repeated]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(progress)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':text -- How far the work is:_default' \
&& ret=0
;;
(accept)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(refuse)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':reason -- The reason, for the agent that delegated the task:_default' \
&& ret=0
;;
        esac
    ;;
esac
;;
(beat)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(mcp)
_arguments "${_arguments_options[@]}" : \
'--agent=[Fetch tasks as this agent]:NAME:_adjutant_agents' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(session-end)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'::id -- The id of the task \[default\: all tasks in progress\]:_adjutant_tasks' \
&& ret=0
;;
(events)
_arguments "${_arguments_options[@]}" : \
'--task=[Only events about this task]:ID:_adjutant_tasks' \
'*--type=[Only events of this type, e.g. \`task.transitioned\`, or group of types, e.g. \`task\`]:TYPE:_default' \
'--since=[Only events since a time (yesterday, 18\:00, 2026-12-01), an age (90s, 15m, 2h, 3d) or an event number]:TIME:_default' \
'(-f --follow)--limit=[Show at most the last N events]:N:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'-f[Print new events as they come]' \
'--follow[Print new events as they come]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(mission)
_arguments "${_arguments_options[@]}" : \
'--dialect=[The protocol\: aof, mission, \`new_task\` or prompt \[default\: that of the task, else prompt\]]:D:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The id of the task:_adjutant_tasks' \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
'--as=[The kind of document \[default\: recognised by its name and content\]]:KIND:((envelope\:"An AOF/1 message"
mission\:"A mission of Agent Protocol v1"
result\:"The result of a mission"
new_task\:"A delegation to a mode\: \`new_task\`"
attempt_completion\:"The report on a \`new_task\`"
task\:"A task file"
state\:"The state of a story\: \`STATE.json\`"
handoff\:"An executor'\''s hand-over\: \`HANDOFF.md\`"
step-rules\:"The step rules of a project\: \`step-rules.yaml\`"))' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':file -- The file with the document; `-` is standard input:_files' \
&& ret=0
;;
(schema)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':kind -- The kind of document:((envelope\:"An AOF/1 message"
mission\:"A mission of Agent Protocol v1"
result\:"The result of a mission"
new_task\:"A delegation to a mode\: \`new_task\`"
attempt_completion\:"The report on a \`new_task\`"
task\:"The front matter of a task file"
events\:"A line of the event log"
run_result\:"The \`run_result.json\` of a run"
handoff_json\:"The \`inputs/handoff.json\` of a delegated task"
state\:"The state of a story\: \`STATE.json\`"
handoff\:"An executor'\''s hand-over\: the front matter of \`HANDOFF.md\`"
step-rules\:"The step rules of a project\: \`step-rules.yaml\`"
config\:"The configuration\: \`adjutant.toml\`"
answer\:"The answer to a message"
openapi\:"The HTTP API, as an \`OpenAPI\` document"))' \
&& ret=0
;;
(story)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_adjutant__subcmd__story_commands" \
"*::: :->story" \
&& ret=0

    case $state in
    (story)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:adjutant-story-command-$line[1]:"
        case $line[1] in
            (init)
_arguments "${_arguments_options[@]}" : \
'--project=[The project'\''s folder \[default\: the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--claude[Call \`story hook\` when Claude Code stops\: adds a hook to the project'\''s settings]' \
'--git[Call \`story hook\` after a commit\: adds a hook to the git repository]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(start)
_arguments "${_arguments_options[@]}" : \
'*--blocked-by=[A story that must be done first; may be repeated]:ID:_default' \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--auto[Let agents do the steps]' \
'--force[Start again from the first step, even if the story is running or done]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The id of the story, e.g. US-005:_default' \
&& ret=0
;;
(next)
_arguments "${_arguments_options[@]}" : \
'--note=[A note for the next executor; its prompt includes it]:TEXT:_default' \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(hook)
_arguments "${_arguments_options[@]}" : \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--if-handed-over[Do nothing if there is no hand-over yet]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(approve)
_arguments "${_arguments_options[@]}" : \
'--note=[A note for the next executor; its prompt includes it]:TEXT:_default' \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(reject)
_arguments "${_arguments_options[@]}" : \
'--note=[A note for the next executor; its prompt includes it]:TEXT:_default' \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':reason -- The reason\: `constitution_violation`, `needs_clarification`, `nfr_missing`, `scope_warning`, `test_timeout`, or `default` if none of these fits:_default' \
&& ret=0
;;
(auto)
_arguments "${_arguments_options[@]}" : \
'(--off)--agent=[The agent that does the steps \[default\: any configured agent\]]:NAME:_adjutant_agents' \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--off[Start the steps by hand again]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'::id -- The id of the story \[default\: the only story that is not done\]:_default' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(rollback)
_arguments "${_arguments_options[@]}" : \
'--note=[A note for the next executor; its prompt includes it]:TEXT:_default' \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':step -- The step to return to, e.g. bdd, contract or impl:_default' \
&& ret=0
;;
(reopen)
_arguments "${_arguments_options[@]}" : \
'--step=[The step to continue at]:STEP:_default' \
'--note=[A note for the next executor; its prompt includes it]:TEXT:_default' \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The id of the story:_default' \
&& ret=0
;;
(report-error)
_arguments "${_arguments_options[@]}" : \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':error -- What went wrong:_default' \
&& ret=0
;;
(poll)
_arguments "${_arguments_options[@]}" : \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(prompt)
_arguments "${_arguments_options[@]}" : \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'::step -- The step \[default\: the current step of the story\]:_default' \
&& ret=0
;;
(why)
_arguments "${_arguments_options[@]}" : \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
'--project=[The project'\''s folder \[default\: the project around the working directory\]]:DIR:_files' \
'--story=[The id of the story \[default\: the only story that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
        esac
    ;;
esac
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--fix[Repair what can be repaired automatically, and list the repairs]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':file -- The file to create; an existing file is not overwritten:_files' \
&& ret=0
;;
(fleet)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
":: :_adjutant__subcmd__fleet_commands" \
"*::: :->fleet" \
&& ret=0

    case $state in
    (fleet)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:adjutant-fleet-command-$line[1]:"
        case $line[1] in
            (status)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(key)
_arguments "${_arguments_options[@]}" : \
'--file=[The file with the key, relative to the data folder; it need not be the node'\''s own key]:FILE:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(restore)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
        esac
    ;;
esac
;;
(import)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':file -- The file that `adjutant export` wrote:_files' \
'::dir -- The project'\''s folder \[default\: this one\]:_files' \
&& ret=0
;;
(demo)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--keep[Keep the folder, and print its path]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':shell -- The shell that the script is for:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(candidates)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'*::line -- The words after `adjutant`; the last one is completed:_default' \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
'--dir=[Write a page for every command into this folder]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'*::words -- The command, with its subcommand if it has any:_default' \
&& ret=0
;;
(version)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(shim)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(check-shim)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(network-forwarder)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--start[Start it as a process of its own, and return when it listens]' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':socket -- The socket of the proxy:_files' \
'*::ports -- Ports of the machine that the run may use:_default' \
&& ret=0
;;
(sandbox-stage)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'*::descriptors -- The descriptors of its instructions and of the pipe for its status:_default' \
&& ret=0
;;
(script-agent)
_arguments "${_arguments_options[@]}" : \
'()--steps=[Steps instead of a script, as JSON]:JSON:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
'::file -- The script to play:_files' \
&& ret=0
;;
(acp-agent)
_arguments "${_arguments_options[@]}" : \
'--patience=[How many seconds the agent may take to start its session]:SECONDS:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':paper -- The file that names the agent and its permissions:_files' \
&& ret=0
;;
(webhook-agent)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else \`.adjutant\` in this folder or a parent\]]:DIR:_files' \
'--json[Print JSON\: one document, or one per line for streams]' \
'-h[Print help]' \
'--help[Print help]' \
':paper -- The file with the address of the agent:_files' \
&& ret=0
;;
        esac
    ;;
esac
}

(( $+functions[_adjutant_commands] )) ||
_adjutant_commands() {
    local commands; commands=(
'init:Create a data folder for a project\: DIR/.adjutant' \
'task:Create, show and change tasks' \
'approve:Approve work in review\: merge it if \`merge\` is configured, and mark the task as done' \
'reject:Reject work in review\: the task becomes ready and runs again' \
'answer:Answer a question of an agent\: the task becomes ready, and its next run gets the answer' \
'inbox:Show everything that needs you\: reviews, questions, failed tasks and late reports' \
'why:Explain why a task is not running' \
'tick:Run the scheduler once\: assign ready tasks and clean up after runs that have ended' \
'trust:Accept what the configuration and the stories would run, or the checks in the file of a task' \
'undo:Restore uncommitted work that an agent left behind' \
'up:Start the daemon\: assign tasks to agents, supervise runs, serve the board' \
'down:Stop the daemon, and wait until it has exited' \
'status:Show whether the daemon is running, the current runs, and the number of tasks by status' \
'open:Print a sign-in link for the board of the running daemon, and open it on a desktop' \
'top:Show the board in the terminal\: the inbox, running and waiting tasks, and their output' \
'logs:Show the output of the agent that worked on a task' \
'agents:List the configured agents with their load, and agents installed on this machine' \
'send:Send a message or document in any protocol, and print the answer' \
'report:Report on the current run, from inside it (for agents)' \
'beat:Send a heartbeat for the current run (for agents that run elsewhere)' \
'mcp:Serve MCP (Model Context Protocol) over standard input and output' \
'session-end:Apply results that agents left in \`run_result.json\`' \
'events:Show the event log' \
'mission:Print the work order of a task, in any protocol' \
'check:Validate a document, and list every problem' \
'schema:Print the JSON Schema of a document, or the \`OpenAPI\` document of the HTTP API' \
'story:Move stories through the step pipeline, from scenarios to a commit' \
'doctor:Find problems in the data folder, and repair them with --fix' \
'export:Export the project to one file\: tasks, runs and the event log' \
'fleet:Show the nodes of a fleet, make the key of a node, or restore a fleet' \
'import:Create a data folder from an exported project\: DIR/.adjutant' \
'demo:Watch three scripted agents work on twelve tasks, with failures, in a temporary folder' \
'completions:Print the completion script of a shell' \
'candidates:Print the values that complete a word' \
'man:Print the manual page, or write one for every command' \
'help:List the commands, or show the help of one command' \
'version:Print the version of this program' \
'shim:Supervise one run; its instructions come on standard input' \
'check-shim:Supervise one command that checks work; its instructions come on standard input' \
'network-forwarder:Relay connections of a run to its proxy, and print a line when that is ready' \
'sandbox-stage:Give up rights inside a sandbox and become the command that it is made for' \
'script-agent:Run the built-in agent that plays a script' \
'acp-agent:Run an agent over the Agent Client Protocol' \
'webhook-agent:Hand a run to a remote agent over HTTP' \
    )
    _describe -t commands 'adjutant commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__acp-agent_commands] )) ||
_adjutant__subcmd__acp-agent_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant acp-agent commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__agents_commands] )) ||
_adjutant__subcmd__agents_commands() {
    local commands; commands=(
'test:Test an agent\: give it a tiny task in a temporary data folder' \
'allow:Let an agent with a list of hosts connect to one more host' \
    )
    _describe -t commands 'adjutant agents commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__agents__subcmd__allow_commands] )) ||
_adjutant__subcmd__agents__subcmd__allow_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant agents allow commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__agents__subcmd__test_commands] )) ||
_adjutant__subcmd__agents__subcmd__test_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant agents test commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__answer_commands] )) ||
_adjutant__subcmd__answer_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant answer commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__approve_commands] )) ||
_adjutant__subcmd__approve_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant approve commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__beat_commands] )) ||
_adjutant__subcmd__beat_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant beat commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__candidates_commands] )) ||
_adjutant__subcmd__candidates_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant candidates commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__check_commands] )) ||
_adjutant__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant check commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__check-shim_commands] )) ||
_adjutant__subcmd__check-shim_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant check-shim commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__completions_commands] )) ||
_adjutant__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant completions commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__demo_commands] )) ||
_adjutant__subcmd__demo_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant demo commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__doctor_commands] )) ||
_adjutant__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant doctor commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__down_commands] )) ||
_adjutant__subcmd__down_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant down commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__events_commands] )) ||
_adjutant__subcmd__events_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant events commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__export_commands] )) ||
_adjutant__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant export commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__fleet_commands] )) ||
_adjutant__subcmd__fleet_commands() {
    local commands; commands=(
'status:Show the nodes, the leader, and how many commits each node is behind' \
'key:Print the name and the public key of this node, for \`accepted_keys\` on every node' \
'restore:Publish this folder as the data of the fleet, on servers that are new or lost their data' \
    )
    _describe -t commands 'adjutant fleet commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__fleet__subcmd__key_commands] )) ||
_adjutant__subcmd__fleet__subcmd__key_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant fleet key commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__fleet__subcmd__restore_commands] )) ||
_adjutant__subcmd__fleet__subcmd__restore_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant fleet restore commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__fleet__subcmd__status_commands] )) ||
_adjutant__subcmd__fleet__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant fleet status commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__help_commands] )) ||
_adjutant__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant help commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__import_commands] )) ||
_adjutant__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant import commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__inbox_commands] )) ||
_adjutant__subcmd__inbox_commands() {
    local commands; commands=(
'apply:Apply a report that arrived too late to count' \
    )
    _describe -t commands 'adjutant inbox commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__inbox__subcmd__apply_commands] )) ||
_adjutant__subcmd__inbox__subcmd__apply_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant inbox apply commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__init_commands] )) ||
_adjutant__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant init commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__logs_commands] )) ||
_adjutant__subcmd__logs_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant logs commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__man_commands] )) ||
_adjutant__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant man commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__mcp_commands] )) ||
_adjutant__subcmd__mcp_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant mcp commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__mission_commands] )) ||
_adjutant__subcmd__mission_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant mission commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__network-forwarder_commands] )) ||
_adjutant__subcmd__network-forwarder_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant network-forwarder commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__open_commands] )) ||
_adjutant__subcmd__open_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant open commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__reject_commands] )) ||
_adjutant__subcmd__reject_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant reject commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__report_commands] )) ||
_adjutant__subcmd__report_commands() {
    local commands; commands=(
'done:Report that the work is done' \
'partial:Report that a part of the work is done' \
'blocked:Report that the work cannot continue' \
'needs-review:Ask for a review of the work' \
'progress:Report progress, while the work continues' \
'accept:Accept a delegated task' \
'refuse:Refuse a delegated task, and return it' \
    )
    _describe -t commands 'adjutant report commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__report__subcmd__accept_commands] )) ||
_adjutant__subcmd__report__subcmd__accept_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant report accept commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__report__subcmd__blocked_commands] )) ||
_adjutant__subcmd__report__subcmd__blocked_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant report blocked commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__report__subcmd__done_commands] )) ||
_adjutant__subcmd__report__subcmd__done_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant report done commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__report__subcmd__needs-review_commands] )) ||
_adjutant__subcmd__report__subcmd__needs-review_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant report needs-review commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__report__subcmd__partial_commands] )) ||
_adjutant__subcmd__report__subcmd__partial_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant report partial commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__report__subcmd__progress_commands] )) ||
_adjutant__subcmd__report__subcmd__progress_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant report progress commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__report__subcmd__refuse_commands] )) ||
_adjutant__subcmd__report__subcmd__refuse_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant report refuse commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__sandbox-stage_commands] )) ||
_adjutant__subcmd__sandbox-stage_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant sandbox-stage commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__schema_commands] )) ||
_adjutant__subcmd__schema_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant schema commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__script-agent_commands] )) ||
_adjutant__subcmd__script-agent_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant script-agent commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__send_commands] )) ||
_adjutant__subcmd__send_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant send commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__session-end_commands] )) ||
_adjutant__subcmd__session-end_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant session-end commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__shim_commands] )) ||
_adjutant__subcmd__shim_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant shim commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__status_commands] )) ||
_adjutant__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant status commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story_commands] )) ||
_adjutant__subcmd__story_commands() {
    local commands; commands=(
'init:Create the files that stories need; existing files are not overwritten' \
'start:Start a story' \
'next:Start the next step and print its prompt, or say what the story waits for' \
'hook:Process the hand-over of an executor\: run the tests and the check, and record the result' \
'approve:Approve a review, or allow another attempt' \
'reject:Reject a step; the reason decides which step is next' \
'auto:Let agents do the steps of a story, until it is done or needs a person' \
'status:Show the step, tests and changes of a story' \
'list:List the stories with their step and status' \
'rollback:Move a story back to an earlier step' \
'reopen:Reopen a story that is done' \
'report-error:Record that the executor failed; this counts as an attempt' \
'poll:Check every story for an executor that has timed out' \
'prompt:Print the prompt of the current step, or of a named one' \
'why:Say what holds a story back' \
'diff:Show what changed since a story began' \
    )
    _describe -t commands 'adjutant story commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__approve_commands] )) ||
_adjutant__subcmd__story__subcmd__approve_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story approve commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__auto_commands] )) ||
_adjutant__subcmd__story__subcmd__auto_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story auto commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__diff_commands] )) ||
_adjutant__subcmd__story__subcmd__diff_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story diff commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__hook_commands] )) ||
_adjutant__subcmd__story__subcmd__hook_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story hook commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__init_commands] )) ||
_adjutant__subcmd__story__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story init commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__list_commands] )) ||
_adjutant__subcmd__story__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story list commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__next_commands] )) ||
_adjutant__subcmd__story__subcmd__next_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story next commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__poll_commands] )) ||
_adjutant__subcmd__story__subcmd__poll_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story poll commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__prompt_commands] )) ||
_adjutant__subcmd__story__subcmd__prompt_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story prompt commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__reject_commands] )) ||
_adjutant__subcmd__story__subcmd__reject_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story reject commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__reopen_commands] )) ||
_adjutant__subcmd__story__subcmd__reopen_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story reopen commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__report-error_commands] )) ||
_adjutant__subcmd__story__subcmd__report-error_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story report-error commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__rollback_commands] )) ||
_adjutant__subcmd__story__subcmd__rollback_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story rollback commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__start_commands] )) ||
_adjutant__subcmd__story__subcmd__start_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story start commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__status_commands] )) ||
_adjutant__subcmd__story__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story status commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__story__subcmd__why_commands] )) ||
_adjutant__subcmd__story__subcmd__why_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant story why commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task_commands] )) ||
_adjutant__subcmd__task_commands() {
    local commands; commands=(
'add:Create a task' \
'list:List tasks, one per line' \
'show:Show a task\: its fields, attempts, checks and description' \
'diff:Show the changes that were made for a task, as a diff' \
'edit:Change a task; without options, open it in your editor' \
'move:Move a task to another status' \
'cancel:Cancel a task, and stop its run' \
'retry:Run a task again that is blocked or was given up, or end its wait for the next attempt' \
'copy:Create a task with the content of another one' \
'reopen:Return a cancelled task to the backlog' \
'import:Create tasks from a file\: a Markdown checklist, CSV or JSON' \
    )
    _describe -t commands 'adjutant task commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__add_commands] )) ||
_adjutant__subcmd__task__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task add commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__cancel_commands] )) ||
_adjutant__subcmd__task__subcmd__cancel_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task cancel commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__copy_commands] )) ||
_adjutant__subcmd__task__subcmd__copy_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task copy commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__diff_commands] )) ||
_adjutant__subcmd__task__subcmd__diff_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task diff commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__edit_commands] )) ||
_adjutant__subcmd__task__subcmd__edit_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task edit commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__import_commands] )) ||
_adjutant__subcmd__task__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task import commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__list_commands] )) ||
_adjutant__subcmd__task__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task list commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__move_commands] )) ||
_adjutant__subcmd__task__subcmd__move_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task move commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__reopen_commands] )) ||
_adjutant__subcmd__task__subcmd__reopen_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task reopen commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__retry_commands] )) ||
_adjutant__subcmd__task__subcmd__retry_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task retry commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__task__subcmd__show_commands] )) ||
_adjutant__subcmd__task__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant task show commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__tick_commands] )) ||
_adjutant__subcmd__tick_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant tick commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__top_commands] )) ||
_adjutant__subcmd__top_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant top commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__trust_commands] )) ||
_adjutant__subcmd__trust_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant trust commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__undo_commands] )) ||
_adjutant__subcmd__undo_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant undo commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__up_commands] )) ||
_adjutant__subcmd__up_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant up commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__version_commands] )) ||
_adjutant__subcmd__version_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant version commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__webhook-agent_commands] )) ||
_adjutant__subcmd__webhook-agent_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant webhook-agent commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__why_commands] )) ||
_adjutant__subcmd__why_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant why commands' commands "$@"
}

_adjutant_candidates() {
    local -a values
    values=(${(f)"$(adjutant candidates -- "$@" "$PREFIX" 2>/dev/null)"})
    values=("${(@)values//:/\\:}")
    values=("${(@)values/$'\t'/:}")
    _describe 'value' values
}
_adjutant_tasks() {
    _adjutant_candidates task show
}
_adjutant_agents() {
    _adjutant_candidates task list --agent
}

if [ "$funcstack[1]" = "_adjutant" ]; then
    _adjutant "$@"
else
    compdef _adjutant adjutant
fi
