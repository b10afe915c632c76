# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# Another program wants all counters but that of the truth, while the exporter has some of them. Then
# the exporter pauses, and goes on.

post() { wget -q -O - --post-data= "$server$1"; }  # PATH

take_all() {  # NAME
  /app/perf stat -x, -o /run/perf -C 0 -e '{r8,r8,r8,r8,r8}:D' -- sleep 3
  write_down perf "$1" </run/perf
}

new_cgroup busy
start_work busy busy 0 cpu/instructions spin
start_daemon pause --web.enable-lifecycle
mark start
go_on busy
scrape_after_polls steady 20  # until rates are those of the load
take_all without
post '/-/pause?for=5m' | write_down answer pause
scrape_after_polls paused
take_all paused
sleep 20
scrape_after_polls before-end
post /-/resume | write_down answer resume
scrape_after_polls resumed 5
halt busy
mark end

# One that ends by itself, after what is filled from the past. Nothing works.
end_work busy
post '/-/pause?for=90s' | write_down answer long
scrape long-begin
sleep 80
scrape_after_polls long-paused
sleep 15
scrape_after_polls long-end 5
stop_daemon

# Each group of hardware events counts for a third of the time.
new_cgroup steady
start_work steady steady 0 cpu/instructions spin
start_daemon duty
go_on steady
sleep 12  # twice around, until rates are those of the load
halt steady
mark duty-start
go_on steady
sleep 36
halt steady
mark duty-end
end_work steady
stop_daemon
