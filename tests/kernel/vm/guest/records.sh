# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# Samples that the interrupt of a counter writes: rings of ours as files of perf(1), printed by our
# decoder and by perf.

record() {  # EVENTS COMMAND...
  local events=$1
  shift
  /app/records record "$events" 1048576 /run/data "$@" || give_up "records of $events failed"
  /app/records print /run/data >/run/decoded || give_up "records of $events cannot be printed"
  perf report -D -i /run/data >/run/printed 2>/run/stderr || give_up "perf failed on $events"
  write_down decoded "$events" </run/decoded
  write_down printed "$events" </run/printed
  rm /run/data /run/decoded /run/printed /run/stderr
}

# shellcheck disable=SC2016  # $0 and $i are for that shell
readonly scene='mkdir "$0/new" && rmdir "$0/new"; unshare -m -u true; ls -R /app >/dev/null
i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done'

record hardware sh -c "$scene" "$cgroups"

echo 250 >/proc/sys/kernel/perf_event_max_sample_rate
record throttled sh -c "$scene" "$cgroups"
