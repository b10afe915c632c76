# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# The configuration that is compiled in, five services, and a CPU that goes and comes back, twice: seen
# by the daemon, and while it stands still.

readonly online=/sys/devices/system/cpu/cpu1/online

new_cgroup system.slice
for service in a b c d e; do
  new_cgroup "system.slice/$service.service"
  start_work $service "system.slice/$service.service" 0 - pulse 2000
  go_on $service
done
start_daemon default
scrape_after_polls start 4
echo 0 >$online || give_up "CPU 1 cannot go offline"
scrape_after_polls away 3
echo 1 >$online || give_up "CPU 1 cannot come back"
scrape_after_polls back 3
halt_daemon
echo 0 >$online
echo 1 >$online
let_daemon_go_on
scrape_after_polls again 3
stop_daemon
