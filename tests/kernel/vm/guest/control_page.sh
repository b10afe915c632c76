# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# A program reads its own counters without a system call, where the kernel allows that and where not.

for access in 0 1; do
  echo $access >/proc/sys/kernel/perf_user_access
  /app/control_page >/run/page || give_up "control_page failed"
  write_down page $access </run/page
  doctor $access
done
