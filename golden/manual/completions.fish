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

complete -c adjutant -n "__fish_adjutant_needs_command" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_needs_command" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_needs_command" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_needs_command" -s V -l version -d 'Print version'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "init" -d 'Make a data folder for a project: DIR/.adjutant'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "task" -d 'Make, show and change tasks'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "approve" -d 'Accept work that is in review: it is merged where the configuration says so, and done'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "reject" -d 'Send work that is in review back: it is ready to be done again'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "answer" -d 'Answer what a blocked task waits for: it is ready to go on, and the next run is told'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "inbox" -d 'Show everything that waits for a person: reviews, questions, what was given up or came too late'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "why" -d 'Say what holds a task back, a sentence each'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "tick" -d 'Give out work once, and clear up after runs that are over'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "undo" -d 'Bring back work that lay uncommitted in a work tree'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "up" -d 'Give out work and look after runs, until told to stop'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "down" -d 'Stop the daemon, and wait until it is gone'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "status" -d 'Say whether a daemon is running, what runs, and how much there is of everything'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "top" -d 'Show the board in the terminal: what runs, what waits for you and why, and lets you answer'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "logs" -d 'Show what the agent of a task printed'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "agents" -d 'Show the agents: who is configured, who is found on this machine, how many slots are used'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "send" -d 'Take in a message, and say what became of it'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "report" -d 'Report on the run this is called from'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "beat" -d 'Give a sign of life of the run this is called from'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "mcp" -d 'Serve MCP over standard input and output'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "session-end" -d 'Apply results that agents left in `run_result.json` and that were never applied'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "events" -d 'Show the record'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "mission" -d 'Print the work order of a task, in any dialect'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "check" -d 'Validate a document, and name every problem in it'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "schema" -d 'Print the JSON Schema of a kind of document, or the description of the HTTP interface'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "story" -d 'Drive stories from their scenarios to a commit, on a project\'s files alone'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "doctor" -d 'Look for what is wrong in the data folder'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "export" -d 'Write the project into one file: tasks, runs and the record'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "fleet" -d 'Look at the machines that share the project'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "import" -d 'Make a data folder of an exported project: DIR/.adjutant'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "demo" -d 'Let a crew of three work on a dozen tasks in a fresh folder, and see what can go wrong'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "completions" -d 'Print what a shell needs to complete commands'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "man" -d 'Print the manual page, or write one for every command'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "shim" -d 'Look after one run, told on standard input'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "script-agent" -d 'Be an agent that does what a script says'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "acp-agent" -d 'Speak the Agent Client Protocol with an agent, as a paper says'
complete -c adjutant -n "__fish_adjutant_needs_command" -f -a "webhook-agent" -d 'Hand a run to an agent elsewhere, as a paper says'
complete -c adjutant -n "__fish_adjutant_using_subcommand init" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand init" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand init" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -f -a "add" -d 'Make a task'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -f -a "list" -d 'List tasks, a line each'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -f -a "show" -d 'Show a task: its fields and its body'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -f -a "diff" -d 'Show what the work on a task changed, against what it started from'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -f -a "edit" -d 'Change a task; without options, in your editor'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -f -a "move" -d 'Move a task to another status'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -f -a "cancel" -d 'Give a task up'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and not __fish_seen_subcommand_from add list show diff edit move cancel retry" -f -a "retry" -d 'Let a task that is blocked or in deadletter be tried again, or one that waits be tried at once'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l body -d 'Everything else about it, in Markdown' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l body-file -d 'A file with everything else about it; `-` is standard input' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l priority -d 'How urgent it is: critical, high, normal or low' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l agent -d 'The agent it is for' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l tag -d 'What an agent should be good at; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l depends-on -d 'A task that must be done before this one; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l parent -d 'The task it is a part of' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l review -d 'Whether finished work waits for somebody to look at it, or is done' -r -f -a "required\t''
none\t''"
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l status -d 'Where it begins: to be looked at first, or to be given out at once' -r -f -a "backlog\t''
ready\t''"
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l resource -d 'What only one task may use at a time' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l due -d 'When it should be done: a time as 2026-02-10T12:00:00Z' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l check -d 'A command that must pass before the work counts as done, in place of those of the agent and the project; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l status -d 'Only those with this status; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l agent -d 'Only those this agent works on, or that are for it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l epic -d 'Only those of this epic, after a line that says how it stands' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l limit -d 'Only the first so many' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from show" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from show" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from diff" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from diff" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l title -d 'Another title' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l body -d 'Another body' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l body-file -d 'A file with another body; `-` is standard input' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l priority -d 'Another priority: critical, high, normal or low' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l agent -d 'Another agent' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l tag -d 'A tag, instead of those it has; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l depends-on -d 'A task that must be done before, instead of those it has; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l parent -d 'Another task it is a part of' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l review -d 'Whether finished work waits for somebody to look at it, or is done' -r -f -a "required\t''
none\t''"
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l resource -d 'What only one task may use at a time' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l due -d 'When it should be done: a time as 2026-02-10T12:00:00Z' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-agent -d 'For any agent'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-tags -d 'Without tags'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-depends-on -d 'Without tasks that must be done before'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-parent -d 'A part of no other task'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-resource -d 'Without a resource'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l no-due -d 'Without a time when it should be done'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from edit" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from move" -l reason -d 'Why, for the record' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from move" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from move" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from move" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from cancel" -l reason -d 'Why, for the record' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from cancel" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from cancel" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from cancel" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from retry" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from retry" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand task; and __fish_seen_subcommand_from retry" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -l note -d 'Anything to say about it, for the record' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand approve" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand reject" -l reason -d 'What is wrong with it; whoever works on it next is told' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand reject" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand reject" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand reject" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand answer" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand answer" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand answer" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and not __fish_seen_subcommand_from apply" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and not __fish_seen_subcommand_from apply" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and not __fish_seen_subcommand_from apply" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and not __fish_seen_subcommand_from apply" -f -a "apply" -d 'Let a report count that came too late'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and __fish_seen_subcommand_from apply" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and __fish_seen_subcommand_from apply" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand inbox; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand why" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand why" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand why" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -l now -d 'Take it to be this time' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -l dry-run -d 'Say what would be done, and do nothing'
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand tick" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -l attempt -d 'The attempt that left it, as the list has it [default: the last]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -l to -d 'A folder to bring it back to, which must be new or empty [default: the task\'s work tree]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l listen -d 'Let programs and browsers in at this address; port 0 is any that is free, `off` is none [default: 127.0.0.1:7474, or any port if that is taken]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l until-idle -d 'End when there is nothing left to do'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l wait -d 'Wait for another daemon on the folder to end, instead of leaving it the folder'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l detach -d 'Go on in the background, with `daemon.log` in the data folder, and return when it is up'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l detached -d 'Be the daemon in the background'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand up" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -l drain -d 'Give out nothing more, and leave when the runs there are have come to their end'
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -l stop -d 'Stop the runs there are, and leave when they are over'
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand down" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand status" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand status" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand status" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand top" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand top" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand top" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -l attempt -d 'Of this attempt [default: the last one]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -s f -l follow -d 'Go on and show what is added, until the run is over'
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand logs" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and not __fish_seen_subcommand_from test" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and not __fish_seen_subcommand_from test" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and not __fish_seen_subcommand_from test" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and not __fish_seen_subcommand_from test" -f -a "test" -d 'Give an agent a tiny task, in a data folder of its own, and say what came of it'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and __fish_seen_subcommand_from test" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and __fish_seen_subcommand_from test" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand agents; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand send" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand send" -l lines -d 'One message a line, one answer a line'
complete -c adjutant -n "__fish_adjutant_using_subcommand send" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand send" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "done" -d 'The work is done'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "partial" -d 'Some of the work is done'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "blocked" -d 'Something is in the way'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "needs-review" -d 'Somebody must look at the work'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "progress" -d 'Say how far the work is'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "accept" -d 'Accept work that was handed on'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and not __fish_seen_subcommand_from done partial blocked needs-review progress accept refuse" -f -a "refuse" -d 'Give work back that was handed on'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l summary -d 'The file that says what was done, in the folder of the task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l notes -d 'What there is to say about it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l tests -d 'How the tests went' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l deliverable -d 'A file that was made; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l blocker -d 'What is in the way; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from done" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l summary -d 'The file that says what was done, in the folder of the task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l notes -d 'What there is to say about it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l tests -d 'How the tests went' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l deliverable -d 'A file that was made; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l blocker -d 'What is in the way; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from partial" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l summary -d 'The file that says what was done, in the folder of the task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l notes -d 'What there is to say about it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l tests -d 'How the tests went' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l deliverable -d 'A file that was made; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l blocker -d 'What is in the way; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from blocked" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l summary -d 'The file that says what was done, in the folder of the task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l notes -d 'What there is to say about it' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l tests -d 'How the tests went' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l deliverable -d 'A file that was made; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l blocker -d 'What is in the way; may be given more than once' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from needs-review" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from progress" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from progress" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from progress" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from accept" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from accept" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from accept" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from refuse" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from refuse" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand report; and __fish_seen_subcommand_from refuse" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand beat" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand beat" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand beat" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand mcp" -l agent -d 'Fetch work as this agent' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand mcp" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand mcp" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand mcp" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand session-end" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand session-end" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand session-end" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l task -d 'Only events about this task' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l type -d 'Only events of this type, as `task.transitioned`, or of a kind, as `task`' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l since -d 'Only events since then: a time, an age as 90s, 15m, 2h or 3d, or an event\'s number' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l limit -d 'Only the last so many' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -s f -l follow -d 'Go on and show what is added'
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand events" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand mission" -l dialect -d 'The dialect: aof, mission, `new_task` or prompt [default: the one it came in, else prompt]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand mission" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand mission" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand mission" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand check" -l as -d 'What it is meant to be [default: what it looks like]' -r -f -a "envelope\t'An AOF/1 message'
mission\t'A mission of Agent Protocol v1'
result\t'The result of a mission'
new_task\t'Work given to a mode'
attempt_completion\t'What came of a `new_task`'
task\t'A task file'
state\t'Where a story stands: `STATE.json`'
handoff\t'What an executor leaves: `HANDOFF.md`'
step-rules\t'The rules of a project\'s stories: `step-rules.yaml`'"
complete -c adjutant -n "__fish_adjutant_using_subcommand check" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand check" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand schema" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand schema" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "init" -d 'Make a project ready for stories; nothing that is there is overwritten'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "start" -d 'Begin a story'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "next" -d 'Go on: start the next executor, or say what is waited for'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "hook" -d 'Take in what an executor left: run the tests and the check, and write down how the step went'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "approve" -d 'Say yes: to a review, or to another try'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "reject" -d 'Say no: the reason decides where the story goes, at once'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "auto" -d 'Have agents do the steps of a story until a person is asked or it is done'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "status" -d 'Show where a story stands, and what changed since it began'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "list" -d 'Show where every story stands'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "rollback" -d 'Put a story back to a step'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "reopen" -d 'Take a story up again that was done'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "report-error" -d 'Say that the executor broke; that counts as an attempt'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "poll" -d 'Look whether the executor of any story took too long'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and not __fish_seen_subcommand_from init start next hook approve reject auto status list rollback reopen report-error poll prompt" -f -a "prompt" -d 'Show what an executor of the present step is told'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l project -d 'The project [default: the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l claude -d 'Have Claude Code tell when an executor has stopped: adds to the project\'s settings'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l git -d 'Have git look after a commit: adds to the repository\'s hooks'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l blocked-by -d 'A story that must be done before this one goes on' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l auto -d 'Have agents do its steps'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l force -d 'Begin anew, be it running or done'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from start" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l note -d 'What there is to say to the next executor' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l story -d 'The story [default: the one that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from next" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l story -d 'The story [default: the one that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l if-handed-over -d 'Do nothing as long as the executor has left nothing'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from hook" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l note -d 'What there is to say to the next executor' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l story -d 'The story [default: the one that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from approve" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l note -d 'What there is to say to the next executor' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l story -d 'The story [default: the one that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reject" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l agent -d 'The agent that does its steps [default: any of the configuration]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l story -d 'The story [default: the one that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l off -d 'Have its steps started by hand again'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from auto" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -l story -d 'The story [default: the one that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from list" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from list" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from list" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l note -d 'What there is to say to the next executor' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l story -d 'The story [default: the one that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from rollback" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l step -d 'Where it goes on' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l note -d 'What there is to say to the next executor' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from reopen" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -l story -d 'The story [default: the one that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from report-error" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from poll" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from poll" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from poll" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from poll" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -l project -d 'The project [default: the one around the working directory]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -l story -d 'The story [default: the one that is not done]' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand story; and __fish_seen_subcommand_from prompt" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand doctor" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand doctor" -l fix -d 'Mend what can be mended, and say what was done'
complete -c adjutant -n "__fish_adjutant_using_subcommand doctor" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand export" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand export" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand export" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status restore" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status restore" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status restore" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status restore" -f -a "status" -d 'Say which nodes there are, who decides, and how far each has followed'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and not __fish_seen_subcommand_from status restore" -f -a "restore" -d 'Make this folder the fleet\'s, on servers that have none: when a cluster was lost, or is new'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from status" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from status" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from restore" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from restore" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand fleet; and __fish_seen_subcommand_from restore" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand import" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand import" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand import" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand demo" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand demo" -l keep -d 'Keep the folder, and say where it is'
complete -c adjutant -n "__fish_adjutant_using_subcommand demo" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand demo" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand completions" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand completions" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand completions" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand man" -l dir -d 'Write a page for every command into this folder' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand man" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand man" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand man" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand shim" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand shim" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand shim" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand script-agent" -l steps -d 'Steps instead of a script, as JSON' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand script-agent" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand script-agent" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand script-agent" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand acp-agent" -l patience -d 'How many seconds the agent may take to answer before it is given its prompt' -r
complete -c adjutant -n "__fish_adjutant_using_subcommand acp-agent" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand acp-agent" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand acp-agent" -s h -l help -d 'Print help'
complete -c adjutant -n "__fish_adjutant_using_subcommand webhook-agent" -l data -d 'The data folder [default: `ADJUTANT_DATA`, else the `.adjutant` folder here or above]' -r -F
complete -c adjutant -n "__fish_adjutant_using_subcommand webhook-agent" -l json -d 'Print JSON: one document, or one a line where there are many'
complete -c adjutant -n "__fish_adjutant_using_subcommand webhook-agent" -s h -l help -d 'Print help'
