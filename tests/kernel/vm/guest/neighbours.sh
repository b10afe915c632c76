# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# Another program's counters of a cgroup in which nothing runs are the first on the CPU; then they go.

new_cgroup idle
/app/hold 0 1 "$(directory_of idle)" >/run/hold &
holder=$!
await "counters of another program" grep -q holding /run/hold
write_down hold idle </run/hold
/app/hold 0 6 later >/run/later &
later=$!
await "counters to be taken later" grep -q ready /run/later
new_cgroup kept
start_work kept kept 0 - loop 20000000
start_daemon neighbours
scrape_after_polls beside-1 3
scrape_after_polls beside-2 4
kill "$holder"
wait "$holder"
scrape_after_polls alone-1
scrape_after_polls alone-2 4

# A round of work is counted by a pinned group. Before that is read, another program enables counters
# that it had opened before, so that they come first, and takes all there are. In the next round the
# group has no place on the PMU, and then its cgroup goes.
halt_daemon
round kept
kill -USR1 "$later"
await "counters to be taken" grep -q holding /run/later
round kept
end_work kept
remove_cgroup kept
let_daemon_go_on
scrape_after_polls gone 3
kill "$later"
wait "$later"
stop_daemon
