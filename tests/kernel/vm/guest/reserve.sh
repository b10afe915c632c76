# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# Another program asks for as many counters as the configuration leaves free.

start_daemon reserve
scrape_after_polls start 3
/app/perf stat -x, -o /run/perf -C 0 -e armv8_pmuv3/event=0x8,name=k1/,armv8_pmuv3/event=0x8,name=k2/ sleep 5
write_down perf other </run/perf
scrape_after_polls end
reload_daemon
scrape_after_polls reloaded 3
stop_daemon
