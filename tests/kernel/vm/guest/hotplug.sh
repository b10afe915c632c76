# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# Two CPUs, of which one goes and comes back; and counters that others take.

readonly online=/sys/devices/system/cpu/cpu1/online

new_cgroup moved
start_work moved moved 1 - pulse 2000
go_on moved
start_daemon hotplug
scrape_after_polls start 3
sleep 5
scrape before

echo 0 >$online || give_up "CPU 1 cannot go offline"
scrape_after_polls away-1
sleep 5
scrape away-2
echo 1 >$online || give_up "CPU 1 cannot come back"
scrape_after_polls back-1 3
end_work moved  # the kernel let it run elsewhere
start_work moved moved 1 - pulse 2000
go_on moved
sleep 5
scrape_after_polls back-2

# As long as it counts, a pinned group keeps its place. So its CPU goes and comes back while the
# daemon stands still, and another program is there first.
halt_daemon
echo 0 >$online
echo 1 >$online
/app/hold 1 5 >/run/hold &
holder=$!
await "counters to be taken" grep -q holding /run/hold
let_daemon_go_on
scrape_after_polls held-1 3
scrape_after_polls held-2 3
kill "$holder"
wait "$holder"
scrape_after_polls recovered-1 3
sleep 5
scrape_after_polls recovered-2
stop_daemon
