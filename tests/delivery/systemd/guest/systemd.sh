#!/bin/bash
# shellcheck source=/dev/null
. /guest/lib.sh

# The service where there is a PMU: at the level of perf_event_paranoid that CAP_PERFMON is enough for,
# and at the one that Debian's kernels start with.
set -eu
readonly unit=perf_event_exporter.service

restart_at() {  # LEVEL
  echo "$1" >/proc/sys/kernel/perf_event_paranoid
  systemctl restart "$unit" || give_up "the service does not start at level $1"
}

tell() {  # NAME
  systemctl show --property=ActiveState,MainPID,NRestarts,StatusText "$unit" | write_down properties "$1"
  write_down process "$1" <"/proc/$(systemctl show --property=MainPID --value "$unit")/status"
  journalctl --no-pager --output=json \
    "_SYSTEMD_INVOCATION_ID=$(systemctl show --property=InvocationID --value "$unit")" | write_down journal "$1"
  scrape "$1"
}

hand_over() {
  local -r status=$?
  echo RECORD-BEGINS
  gzip -1 -c /run/record | base64
  echo RECORD-ENDS
  echo "SCENARIO-ENDED $status"
  systemctl poweroff --force --force
}
trap hand_over EXIT

write_down level boot </proc/sys/kernel/perf_event_paranoid
restart_at 2
tell level-2
scrape_after_polls later
restart_at 3
tell level-3
