# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# One CPU, on which QEMU counts every instruction exactly; nothing takes turns.

new_cgroup busy
new_cgroup other
start_work busy busy 0 instructions:u loop 20000000
start_work other other 0 instructions:u loop 6000000

start_daemon exact
mark start
round busy
mark busy-1
round busy
mark busy-2
round other
mark other-1
go_on busy
go_on other
await_stop busy
await_stop other
mark both
end_work busy
end_work other

# In user and kernel mode together.
start_work whole busy 0 instructions loop 100000000
mark whole-start
round whole
mark whole-1
end_work whole

# perf(1) counts the same round. Its counters take the place of the truth. It is told when to begin
# and to end, so that neither its start nor our waiting is in its counts.
start_work judged busy 0 - loop 1200000000
mkfifo /run/control /run/answer

tell_perf() {  # enable|disable
  echo "$1" >/run/control
  read -r _ </run/answer
}

judge() {  # NAME PERF_ARGS...
  local name=$1 perf
  shift
  /app/perf stat -x, -o /run/perf --delay -1 --control fifo:/run/control,/run/answer "$@" &
  perf=$!
  tell_perf disable  # once it answers, it is there
  scrape_after_polls "$name-before"
  tell_perf enable
  round judged
  tell_perf disable
  scrape_after_polls "$name-after"
  kill -INT "$perf"
  wait "$perf"
  write_down perf "$name" </run/perf
}

judge perf-cgroup -a -e instructions,instructions:u --for-each-cgroup busy
judge perf-cpu -a -e instructions,instructions:u
end_work judged
stop_daemon
