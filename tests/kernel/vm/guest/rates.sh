# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# Groups that take turns, on one CPU with two cgroups of which one has far more of the event in a second
# than the other.

new_cgroup many
new_cgroup few
for burst in 300 2000 20000; do
  start_work many many 0 instructions:u burst $burst
  start_work few few 0 instructions:u calls $burst
  start_daemon rates
  mark rates-$burst-0
  go_on many
  go_on few
  sleep 5
  halt many
  halt few
  mark rates-$burst-1
  stop_daemon
  end_work many
  end_work few
done
