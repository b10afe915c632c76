# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# More than fits on the PMU, at first scaled up by time, then by a reference.

new_cgroup other
start_work everything other 0 cpu/instructions spin
for config in multiplex reference; do
  start_daemon $config
  mark $config-start
  go_on everything
  scrape_after_polls $config-steady-1 3
  scrape_after_polls $config-steady-2 10
  halt everything
  mark $config-end
  stop_daemon
done
end_work everything
