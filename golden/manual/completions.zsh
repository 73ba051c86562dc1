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
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
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
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
'::dir -- The folder of the project \[default\: this one\]:_files' \
&& ret=0
;;
(task)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
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
'(--body-file)--body=[Everything else about it, in Markdown]:TEXT:_default' \
'--body-file=[A file with everything else about it; \`-\` is standard input]:FILE:_files' \
'--priority=[How urgent it is\: critical, high, normal or low]:P:_default' \
'--agent=[The agent it is for]:A:_default' \
'*--tag=[What an agent should be good at; may be given more than once]:T:_default' \
'*--depends-on=[A task that must be done before this one; may be given more than once]:ID:_default' \
'--parent=[The task it is a part of]:ID:_default' \
'--review=[Whether finished work waits for somebody to look at it, or is done]:REVIEW:(required none)' \
'--status=[Where it begins\: to be looked at first, or to be given out at once]:STATUS:(backlog ready)' \
'--resource=[What only one task may use at a time]:R:_default' \
'--due=[When it should be done\: a time as 2026-02-10T12\:00\:00Z]:TIME:_default' \
'*--check=[A command that must pass before the work counts as done, in place of those of the agent and the project; may be given more than once]:CMD:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':title -- One line that says what is to be done:_default' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'*--status=[Only those with this status; may be given more than once]:S:_default' \
'--agent=[Only those this agent works on, or that are for it]:A:_default' \
'--epic=[Only those of this epic, after a line that says how it stands]:E:_default' \
'--limit=[Only the first so many]:N:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
&& ret=0
;;
(diff)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':id -- The task:_default' \
&& ret=0
;;
(edit)
_arguments "${_arguments_options[@]}" : \
'--title=[Another title]:TEXT:_default' \
'(--body-file)--body=[Another body]:TEXT:_default' \
'--body-file=[A file with another body; \`-\` is standard input]:FILE:_files' \
'--priority=[Another priority\: critical, high, normal or low]:P:_default' \
'--agent=[Another agent]:A:_default' \
'*--tag=[A tag, instead of those it has; may be given more than once]:T:_default' \
'*--depends-on=[A task that must be done before, instead of those it has; may be given more than once]:ID:_default' \
'--parent=[Another task it is a part of]:ID:_default' \
'--review=[Whether finished work waits for somebody to look at it, or is done]:REVIEW:(required none)' \
'--resource=[What only one task may use at a time]:R:_default' \
'--due=[When it should be done\: a time as 2026-02-10T12\:00\:00Z]:TIME:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'(--agent)--no-agent[For any agent]' \
'(--tag)--no-tags[Without tags]' \
'(--depends-on)--no-depends-on[Without tasks that must be done before]' \
'(--parent)--no-parent[A part of no other task]' \
'(--resource)--no-resource[Without a resource]' \
'(--due)--no-due[Without a time when it should be done]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
&& ret=0
;;
(move)
_arguments "${_arguments_options[@]}" : \
'--reason=[Why, for the record]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
':status -- Where to:_default' \
&& ret=0
;;
(cancel)
_arguments "${_arguments_options[@]}" : \
'--reason=[Why, for the record]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
&& ret=0
;;
(retry)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
&& ret=0
;;
        esac
    ;;
esac
;;
(approve)
_arguments "${_arguments_options[@]}" : \
'--note=[Anything to say about it, for the record]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
&& ret=0
;;
(reject)
_arguments "${_arguments_options[@]}" : \
'--reason=[What is wrong with it; whoever works on it next is told]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
&& ret=0
;;
(answer)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
':text -- The answer:_default' \
&& ret=0
;;
(inbox)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
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
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
':name -- The report, as the inbox names it:_default' \
&& ret=0
;;
        esac
    ;;
esac
;;
(why)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
&& ret=0
;;
(tick)
_arguments "${_arguments_options[@]}" : \
'--now=[Take it to be this time]:TIME:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--dry-run[Say what would be done, and do nothing]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(undo)
_arguments "${_arguments_options[@]}" : \
'--attempt=[The attempt that left it, as the list has it \[default\: the last\]]:N:_default' \
'--to=[A folder to bring it back to, which must be new or empty \[default\: the task'\''s work tree\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'::id -- The task whose work it is:_default' \
&& ret=0
;;
(up)
_arguments "${_arguments_options[@]}" : \
'--listen=[Let programs and browsers in at this address; port 0 is any that is free, \`off\` is none \[default\: 127.0.0.1\:7474, or any port if that is taken\]]:ADDR:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--until-idle[End when there is nothing left to do]' \
'--wait[Wait for another daemon on the folder to end, instead of leaving it the folder]' \
'(--wait)--detach[Go on in the background, with \`daemon.log\` in the data folder, and return when it is up]' \
'(--detach)--detached[Be the daemon in the background]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(down)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--drain[Give out nothing more, and leave when the runs there are have come to their end]' \
'(--drain)--stop[Stop the runs there are, and leave when they are over]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(top)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(logs)
_arguments "${_arguments_options[@]}" : \
'--attempt=[Of this attempt \[default\: the last one\]]:N:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'-f[Go on and show what is added, until the run is over]' \
'--follow[Go on and show what is added, until the run is over]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
&& ret=0
;;
(agents)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
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
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':name -- The agent:_default' \
&& ret=0
;;
        esac
    ;;
esac
;;
(send)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--lines[One message a line, one answer a line]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
'::file -- A file with the message; `-` is standard input:_files' \
&& ret=0
;;
(report)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
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
'--summary=[The file that says what was done, in the folder of the task]:REF:_default' \
'--notes=[What there is to say about it]:TEXT:_default' \
'--tests=[How the tests went]:TOTAL/PASSED/FAILED:_default' \
'*--deliverable=[A file that was made; may be given more than once]:PATH:_default' \
'*--blocker=[What is in the way; may be given more than once]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(partial)
_arguments "${_arguments_options[@]}" : \
'--summary=[The file that says what was done, in the folder of the task]:REF:_default' \
'--notes=[What there is to say about it]:TEXT:_default' \
'--tests=[How the tests went]:TOTAL/PASSED/FAILED:_default' \
'*--deliverable=[A file that was made; may be given more than once]:PATH:_default' \
'*--blocker=[What is in the way; may be given more than once]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(blocked)
_arguments "${_arguments_options[@]}" : \
'--summary=[The file that says what was done, in the folder of the task]:REF:_default' \
'--notes=[What there is to say about it]:TEXT:_default' \
'--tests=[How the tests went]:TOTAL/PASSED/FAILED:_default' \
'*--deliverable=[A file that was made; may be given more than once]:PATH:_default' \
'*--blocker=[What is in the way; may be given more than once]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(needs-review)
_arguments "${_arguments_options[@]}" : \
'--summary=[The file that says what was done, in the folder of the task]:REF:_default' \
'--notes=[What there is to say about it]:TEXT:_default' \
'--tests=[How the tests went]:TOTAL/PASSED/FAILED:_default' \
'*--deliverable=[A file that was made; may be given more than once]:PATH:_default' \
'*--blocker=[What is in the way; may be given more than once]:TEXT:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(progress)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':text -- How far it is:_default' \
&& ret=0
;;
(accept)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(refuse)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':reason -- Why:_default' \
&& ret=0
;;
        esac
    ;;
esac
;;
(beat)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(mcp)
_arguments "${_arguments_options[@]}" : \
'--agent=[Fetch work as this agent]:NAME:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(session-end)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
'::id -- The task \[default\: every task in progress\]:_default' \
&& ret=0
;;
(events)
_arguments "${_arguments_options[@]}" : \
'--task=[Only events about this task]:ID:_default' \
'*--type=[Only events of this type, as \`task.transitioned\`, or of a kind, as \`task\`]:TYPE:_default' \
'--since=[Only events since then\: a time, an age as 90s, 15m, 2h or 3d, or an event'\''s number]:TIME:_default' \
'(-f --follow)--limit=[Only the last so many]:N:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'-f[Go on and show what is added]' \
'--follow[Go on and show what is added]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(mission)
_arguments "${_arguments_options[@]}" : \
'--dialect=[The dialect\: aof, mission, \`new_task\` or prompt \[default\: the one it came in, else prompt\]]:D:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The task:_default' \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
'--as=[What it is meant to be \[default\: what it looks like\]]:KIND:((envelope\:"An AOF/1 message"
mission\:"A mission of Agent Protocol v1"
result\:"The result of a mission"
new_task\:"Work given to a mode"
attempt_completion\:"What came of a \`new_task\`"
task\:"A task file"
state\:"Where a story stands\: \`STATE.json\`"
handoff\:"What an executor leaves\: \`HANDOFF.md\`"
step-rules\:"The rules of a project'\''s stories\: \`step-rules.yaml\`"))' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':file -- The document; `-` is standard input:_files' \
&& ret=0
;;
(schema)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':kind -- The kind of document:((envelope\:"An AOF/1 message"
mission\:"A mission of Agent Protocol v1"
result\:"The result of a mission"
new_task\:"Work given to a mode"
attempt_completion\:"What came of a \`new_task\`"
task\:"The front matter of a task file"
events\:"A line of the record"
run_result\:"The \`run_result.json\` of a run"
handoff_json\:"The \`inputs/handoff.json\` of a task that was given on"
state\:"Where a story stands\: \`STATE.json\`"
handoff\:"What an executor leaves\: the front matter of \`HANDOFF.md\`"
step-rules\:"The rules of a project'\''s stories\: \`step-rules.yaml\`"
config\:"The configuration, \`adjutant.toml\`"
answer\:"What a message is answered with"
openapi\:"The HTTP interface, as \`OpenAPI\` has it"))' \
&& ret=0
;;
(story)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
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
'--project=[The project \[default\: the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--claude[Have Claude Code tell when an executor has stopped\: adds to the project'\''s settings]' \
'--git[Have git look after a commit\: adds to the repository'\''s hooks]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(start)
_arguments "${_arguments_options[@]}" : \
'*--blocked-by=[A story that must be done before this one goes on]:ID:_default' \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--auto[Have agents do its steps]' \
'--force[Begin anew, be it running or done]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The story, as US-005:_default' \
&& ret=0
;;
(next)
_arguments "${_arguments_options[@]}" : \
'--note=[What there is to say to the next executor]:TEXT:_default' \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--story=[The story \[default\: the one that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(hook)
_arguments "${_arguments_options[@]}" : \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--story=[The story \[default\: the one that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--if-handed-over[Do nothing as long as the executor has left nothing]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(approve)
_arguments "${_arguments_options[@]}" : \
'--note=[What there is to say to the next executor]:TEXT:_default' \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--story=[The story \[default\: the one that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(reject)
_arguments "${_arguments_options[@]}" : \
'--note=[What there is to say to the next executor]:TEXT:_default' \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--story=[The story \[default\: the one that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':reason -- Why\: `constitution_violation`, `needs_clarification`, `nfr_missing`, `scope_warning`, `test_timeout`, or `default` for none of these:_default' \
&& ret=0
;;
(auto)
_arguments "${_arguments_options[@]}" : \
'(--off)--agent=[The agent that does its steps \[default\: any of the configuration\]]:NAME:_default' \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--story=[The story \[default\: the one that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--off[Have its steps started by hand again]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
'::id -- The story \[default\: the one that is not done\]:_default' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--story=[The story \[default\: the one that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(rollback)
_arguments "${_arguments_options[@]}" : \
'--note=[What there is to say to the next executor]:TEXT:_default' \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--story=[The story \[default\: the one that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':step -- The step:_default' \
&& ret=0
;;
(reopen)
_arguments "${_arguments_options[@]}" : \
'--step=[Where it goes on]:STEP:_default' \
'--note=[What there is to say to the next executor]:TEXT:_default' \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':id -- The story:_default' \
&& ret=0
;;
(report-error)
_arguments "${_arguments_options[@]}" : \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--story=[The story \[default\: the one that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':error -- How, in words:_default' \
&& ret=0
;;
(poll)
_arguments "${_arguments_options[@]}" : \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(prompt)
_arguments "${_arguments_options[@]}" : \
'--project=[The project \[default\: the one around the working directory\]]:DIR:_files' \
'--story=[The story \[default\: the one that is not done\]]:ID:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
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
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--fix[Mend what can be mended, and say what was done]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':file -- The file to make; one that is there already stays as it is:_files' \
&& ret=0
;;
(fleet)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
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
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(restore)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
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
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':file -- The file that `adjutant export` made:_files' \
'::dir -- The folder of the project \[default\: this one\]:_files' \
&& ret=0
;;
(demo)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--keep[Keep the folder, and say where it is]' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':shell -- The shell:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
'--dir=[Write a page for every command into this folder]:DIR:_files' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(shim)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(script-agent)
_arguments "${_arguments_options[@]}" : \
'()--steps=[Steps instead of a script, as JSON]:JSON:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
'::file -- The script:_files' \
&& ret=0
;;
(acp-agent)
_arguments "${_arguments_options[@]}" : \
'--patience=[How many seconds the agent may take to answer before it is given its prompt]:SECONDS:_default' \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':paper -- The paper\: which agent, and what it may do:_files' \
&& ret=0
;;
(webhook-agent)
_arguments "${_arguments_options[@]}" : \
'--data=[The data folder \[default\: \`ADJUTANT_DATA\`, else the \`.adjutant\` folder here or above\]]:DIR:_files' \
'--json[Print JSON\: one document, or one a line where there are many]' \
'-h[Print help]' \
'--help[Print help]' \
':paper -- The paper\: where the agent is:_files' \
&& ret=0
;;
        esac
    ;;
esac
}

(( $+functions[_adjutant_commands] )) ||
_adjutant_commands() {
    local commands; commands=(
'init:Make a data folder for a project\: DIR/.adjutant' \
'task:Make, show and change tasks' \
'approve:Accept work that is in review\: it is merged where the configuration says so, and done' \
'reject:Send work that is in review back\: it is ready to be done again' \
'answer:Answer what a blocked task waits for\: it is ready to go on, and the next run is told' \
'inbox:Show everything that waits for a person\: reviews, questions, what was given up or came too late' \
'why:Say what holds a task back, a sentence each' \
'tick:Give out work once, and clear up after runs that are over' \
'undo:Bring back work that lay uncommitted in a work tree' \
'up:Give out work and look after runs, until told to stop' \
'down:Stop the daemon, and wait until it is gone' \
'status:Say whether a daemon is running, what runs, and how much there is of everything' \
'top:Show the board in the terminal\: what runs, what waits for you and why, and lets you answer' \
'logs:Show what the agent of a task printed' \
'agents:Show the agents\: who is configured, who is found on this machine, how many slots are used' \
'send:Take in a message, and say what became of it' \
'report:Report on the run this is called from' \
'beat:Give a sign of life of the run this is called from' \
'mcp:Serve MCP over standard input and output' \
'session-end:Apply results that agents left in \`run_result.json\` and that were never applied' \
'events:Show the record' \
'mission:Print the work order of a task, in any dialect' \
'check:Validate a document, and name every problem in it' \
'schema:Print the JSON Schema of a kind of document, or the description of the HTTP interface' \
'story:Drive stories from their scenarios to a commit, on a project'\''s files alone' \
'doctor:Look for what is wrong in the data folder' \
'export:Write the project into one file\: tasks, runs and the record' \
'fleet:Look at the machines that share the project' \
'import:Make a data folder of an exported project\: DIR/.adjutant' \
'demo:Let a crew of three work on a dozen tasks in a fresh folder, and see what can go wrong' \
'completions:Print what a shell needs to complete commands' \
'man:Print the manual page, or write one for every command' \
'shim:Look after one run, told on standard input' \
'script-agent:Be an agent that does what a script says' \
'acp-agent:Speak the Agent Client Protocol with an agent, as a paper says' \
'webhook-agent:Hand a run to an agent elsewhere, as a paper says' \
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
'test:Give an agent a tiny task, in a data folder of its own, and say what came of it' \
    )
    _describe -t commands 'adjutant agents commands' commands "$@"
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
(( $+functions[_adjutant__subcmd__check_commands] )) ||
_adjutant__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant check commands' commands "$@"
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
'status:Say which nodes there are, who decides, and how far each has followed' \
'restore:Make this folder the fleet'\''s, on servers that have none\: when a cluster was lost, or is new' \
    )
    _describe -t commands 'adjutant fleet commands' commands "$@"
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
(( $+functions[_adjutant__subcmd__import_commands] )) ||
_adjutant__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant import commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__inbox_commands] )) ||
_adjutant__subcmd__inbox_commands() {
    local commands; commands=(
'apply:Let a report count that came too late' \
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
(( $+functions[_adjutant__subcmd__reject_commands] )) ||
_adjutant__subcmd__reject_commands() {
    local commands; commands=()
    _describe -t commands 'adjutant reject commands' commands "$@"
}
(( $+functions[_adjutant__subcmd__report_commands] )) ||
_adjutant__subcmd__report_commands() {
    local commands; commands=(
'done:The work is done' \
'partial:Some of the work is done' \
'blocked:Something is in the way' \
'needs-review:Somebody must look at the work' \
'progress:Say how far the work is' \
'accept:Accept work that was handed on' \
'refuse:Give work back that was handed on' \
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
'init:Make a project ready for stories; nothing that is there is overwritten' \
'start:Begin a story' \
'next:Go on\: start the next executor, or say what is waited for' \
'hook:Take in what an executor left\: run the tests and the check, and write down how the step went' \
'approve:Say yes\: to a review, or to another try' \
'reject:Say no\: the reason decides where the story goes, at once' \
'auto:Have agents do the steps of a story until a person is asked or it is done' \
'status:Show where a story stands, and what changed since it began' \
'list:Show where every story stands' \
'rollback:Put a story back to a step' \
'reopen:Take a story up again that was done' \
'report-error:Say that the executor broke; that counts as an attempt' \
'poll:Look whether the executor of any story took too long' \
'prompt:Show what an executor of the present step is told' \
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
(( $+functions[_adjutant__subcmd__task_commands] )) ||
_adjutant__subcmd__task_commands() {
    local commands; commands=(
'add:Make a task' \
'list:List tasks, a line each' \
'show:Show a task\: its fields and its body' \
'diff:Show what the work on a task changed, against what it started from' \
'edit:Change a task; without options, in your editor' \
'move:Move a task to another status' \
'cancel:Give a task up' \
'retry:Let a task that is blocked or in deadletter be tried again, or one that waits be tried at once' \
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

if [ "$funcstack[1]" = "_adjutant" ]; then
    _adjutant "$@"
else
    compdef _adjutant adjutant
fi
