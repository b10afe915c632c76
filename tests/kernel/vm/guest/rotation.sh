# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# Groups of cgroups that take turns, on one CPU.

new_cgroup always
new_cgroup on_ticks

start_work always always 0 - spin
go_on always
/app/rotation "$(directory_of always)" 0 6 | write_down times rotation
end_work always

start_work always always 0 instructions spin
start_daemon rotated
mark always-0
run_for 10 always
mark always-1
run_for 10 always
mark always-2
end_work always

# The truth is that of the cgroup: each time it gets the CPU and loses it, the kernel itself works for
# a while between its counters and those of its task.
start_work on_ticks on_ticks 0 cgroup/instructions wake 1200
mark on_ticks-0
run_for 10 on_ticks
mark on_ticks-1
run_for 20 on_ticks
mark on_ticks-2
end_work on_ticks
stop_daemon
doctor rotated --config.file=/guest/config/rotated.yaml

# The same work where nothing takes turns, hardware and software events side by side. Linux 6.1 switches
# PMUs one after the other between cgroups, and one of them is told too little running time: which one
# depends on whose events were there first.
run_often() {  # CGROUP
  new_cgroup "$1"
  start_work "$1" "$1" 0 cgroup/instructions wake 1200
}

judge_often() {  # CGROUP
  run_for 1 "$1"  # what is not counted of its first interval, in which it moved itself, has no value
  note_switches "$1" "$1-0"
  mark "$1-0"
  run_for 5 "$1"
  note_switches "$1" "$1-1"
  mark "$1-1"
  end_work "$1"
}

run_often work_first
start_daemon beside
judge_often work_first
stop_daemon
start_daemon beside
run_often daemon_first
judge_often daemon_first
stop_daemon
