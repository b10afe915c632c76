# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# The machine changes while the exporter runs: a right is taken away and given back, the machine runs
# out of files, the clock jumps, and the machine is suspended. One CPU, so that counts are exact.

set_kernel() { echo "$2" >"/proc/sys/$1" || give_up "cannot write $1"; }

# A cgroup with work that is seen.
new_work() {  # NAME
  new_cgroup "$1"
  start_work "$1" "$1" 0 - pulse 2000
  go_on "$1"
}

is_counted() { answer_to /metrics | grep -q "^perf_cgroup_task_clock_seconds_total{.*cgroup=\"/$1\""; }

await_counted() { await "the cgroup $1 to be counted" is_counted "$1"; }

# A round of the work, and what the exporter says then; with the time of day, and with when series began.
mark_round() {  # NAME
  round first
  mark "$1"
  date +%s | write_down date "$1"
  answer_to /metrics --header 'Accept: application/openmetrics-text' |
    grep '^perf_.*_created' | write_down created "$1"
}

step_clock() { date -s "@$(($(date +%s) + $1))" >/dev/null || give_up "cannot set the clock"; }

new_cgroup first
start_work first first 0 instructions:u loop 20000000
set_kernel kernel/perf_event_paranoid 2 # the exporter keeps no more than CAP_PERFMON
start_daemon changes
mark_round start

# With Debian's level 3, CAP_PERFMON is not enough. The configuration is loaded again meanwhile.
set_kernel kernel/perf_event_paranoid 3
new_work second
mark_round level-3
sleep 5
mark_round level-3-later
reload_daemon
sleep 3
mark_round reloaded
set_kernel kernel/perf_event_paranoid 2
await_counted second
mark_round level-2

# All files are open that the machine may have, but for those who may have more.
# (Not by `read`: a second byte cannot be read from these files by itself.)
most=$(cat /proc/sys/fs/file-max)
set_kernel fs/file-max "$(cut -f 1 /proc/sys/fs/file-nr)"
new_work third
sleep 8
set_kernel fs/file-max "$most"
await_counted third
mark_round files

step_clock 3600
mark_round ahead
new_work fourth
await_counted fourth
mark_round ahead-later
step_clock -7200
mark_round back
sleep 10
mark_round back-later

# Suspended to idle, where the kernel can; else the exporter stands still, and the clock goes on.
readonly power=/sys/power/state wake=/sys/class/rtc/rtc0/wakealarm
{ cat $power || echo none; } 2>&1 | write_down power states
{ cat $wake && echo 0 >$wake && echo +60 >$wake && cat $wake; } 2>&1 | write_down power alarm
if grep -qw freeze $power 2>/dev/null && [ -s $wake ]; then
  echo freeze >$power || give_up "cannot suspend"
  echo suspended | write_down power way
else
  halt_daemon
  sleep 60
  step_clock 60
  let_daemon_go_on
  echo stopped | write_down power way
fi
mark_round resumed
sleep 10
mark_round end
stop_daemon
