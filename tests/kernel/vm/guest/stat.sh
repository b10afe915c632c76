# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# The command `stat`, on one CPU, on which QEMU counts every instruction exactly: for a process that is
# stopped before and after, so that its own counter, perf(1) and we speak of the same; then with groups
# that take turns; then for a command.

new_cgroup one

note_truth() {  # MARK WORK
  tail -n 1 "/run/$2.truth" | write_down truth "$1:$2"
}

# shellcheck disable=SC2010  # links, whose names are numbers
has_counters() {  # PID NUMBER
  [ "$(ls -l "/proc/$1/fd" | grep -c 'perf_event')" -ge "$2" ]
}

begin_stat() {  # WORK COUNTERS ARGS...
  local work=$1 counters=$2
  shift 2
  /app/perf_event_exporter stat --output json -p "$(pid_of "$work")" "$@" >/run/stat 2>&1 &
  stat=$!
  await "the counters of stat" has_counters $stat "$counters"
  sleep 1  # they are enabled once all are open
}

end_stat() {  # NAME
  kill -INT "$stat"
  wait "$stat"
  echo $? | write_down status "$1"
  write_down stat "$1" </run/stat
}

# Alone on the PMU.
start_work exact one 0 instructions:u loop 20000000
mkfifo /run/control /run/answer
tell_perf() {  # enable|disable
  echo "$1" >/run/control
  read -r _ </run/answer
}
/app/perf stat -x, -o /run/perf --delay -1 --control fifo:/run/control,/run/answer \
  -e instructions:u,instructions -p "$(pid_of exact)" &
perf=$!
tell_perf disable  # once it answers, it is there
begin_stat exact 2 -e instructions:u,instructions
tell_perf enable
note_truth start exact
round exact
note_truth end exact
tell_perf disable
end_stat exact
kill -INT "$perf"
wait "$perf"
write_down perf exact </run/perf
end_work exact

# 3 groups of 4 counters, of which there are 6.
four() {  # NUMBER
  for event in 0x8,name=i 0x0,name=s 0x23,name=f 0x24,name=b; do
    printf 'armv8_pmuv3/event=%s%s/,' "$event" "$1"
  done | sed 's/,$//'
}
start_work turns one 0 instructions spin
begin_stat turns 12 -e "$(four 1)" -e "$(four 2)" -e "$(four 3)"
note_truth start turns
run_for 20 turns
note_truth end turns
end_stat turns
end_work turns

# A command from its first instruction to its last.
/app/perf stat -x, -o /run/perf -e instructions:u -- /bin/busybox seq 20000 >/dev/null
write_down perf command </run/perf
/app/perf_event_exporter stat --output json -e instructions:u -- /bin/busybox seq 20000 2>/run/stat \
  >/dev/null
echo $? | write_down status command
write_down stat command </run/stat

# More events than there are counters: two groups are made of them.
eight=$(for number in 1 2 3 4 5 6 7 8; do printf 'armv8_pmuv3/event=0x8,name=n%s/:u,' $number; done)
/app/perf_event_exporter stat --output json -e "${eight%,}" -- /bin/busybox seq 20000 2>/run/stat \
  >/dev/null
echo $? | write_down status eight
write_down stat eight </run/stat
