# What agents of these tests can do; what one does comes after it. DIARY and NODE are set before.

# Writes a line into the diary, in one piece: when, where, on which task, in which attempt, what.
note() {
  read -r now _ </proc/uptime
  echo "$now $NODE $ADJUTANT_TASK_ID $ADJUTANT_ATTEMPT $*" >>"$DIARY"
}

# Does so many units of work, of a tenth of a second each, and writes each of them down.
work() {
  unit=0
  while [ "$unit" -lt "$1" ]; do
    note work
    sleep 0.1
    unit=$((unit + 1))
  done
  note work
}

# Sends a message of this type with this payload.
say() {
  printf 'AOF/1 {"protocol":"aof","version":1,"type":"%s","taskId":"%s","fromAgent":"%s","toAgent":"dispatcher","sentAt":"%s","runToken":"%s","payload":%s}\n' \
    "$1" "$ADJUTANT_TASK_ID" "$ADJUTANT_AGENT" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$ADJUTANT_RUN_TOKEN" "$2"
}

# Says how far it is.
progress() {
  say status.update "{\"taskId\":\"$ADJUTANT_TASK_ID\",\"agentId\":\"$ADJUTANT_AGENT\",\"progress\":\"$1\"}"
}

# Says that it is done.
finish() {
  say completion.report "{\"outcome\":\"done\",\"summaryRef\":\"outputs/summary.md\",\"deliverables\":[],\"tests\":{\"total\":0,\"passed\":0,\"failed\":0},\"blockers\":[],\"notes\":\"$1\"}"
}

