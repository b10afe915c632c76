# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# A machine without hardware counters.

new_cgroup system.slice
new_cgroup system.slice/some.service
start_work some system.slice/some.service 0 - pulse 2000
go_on some
start_daemon default
scrape_after_polls start
sleep 5
scrape_after_polls end
stop_daemon
/app/perf_event_exporter doctor 2>&1 | write_down doctor no_pmu
