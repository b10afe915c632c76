# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# ROUNDS of two minutes in which cgroups, a CPU and other users of the PMU come and go, tasks move and
# switch as often as can be, and the daemon reloads and pauses.

readonly online=/sys/devices/system/cpu/cpu1/online

begin() {  # NAME CGROUP CPU KIND AMOUNT
  new_cgroup "$2"
  start_work "$1" "$2" "$3" - "$4" "$5"
  go_on "$1"
}

# As services start: a process joins its cgroup, works there and ends.
start_services() {  # NUMBER
  local started=0
  while [ $started -lt "$1" ]; do
    # shellcheck disable=SC2016  # for that shell
    sh -c 'echo 0 >"$0/cgroup.procs"; i=0; while [ $i -lt 300 ]; do i=$((i + 1)); done' \
      "$(directory_of moved)"
    started=$((started + 1))
  done
}

end() {  # NAME CGROUP
  end_work "$1"
  remove_cgroup "$2"
}

write_down mounts start </proc/mounts
for cgroup in moved brief often often-partner; do
  new_cgroup $cgroup
done
begin steady steady 0 pulse 3000
start_daemon churn
step=0
while [ $step -lt $((24 * ROUNDS)) ]; do
  case $((step % 4)) in
    0) begin "app-$step" "app-$step" $((step / 4 % 2)) pulse 1000 ;;  # runs for 15 s
    1) begin service service 0 wake 200 ;;                # the same path again and again
    2) end service service ;;
    3) end "app-$((step - 3))" "app-$((step - 3))" ;;
  esac
  case $((step % 24)) in
    2) reload_daemon ;;
    5) echo 0 >$online ;;
    7) pause_daemon ;;
    8) resume_daemon ;;
    9) echo 1 >$online ;;
    11) start_services 50 ;;
    13) /app/hold 0 3 >/dev/null & holder=$! ;;
    17) kill "$holder"; wait "$holder" ;;
    19) start_work often often 1 - switch 400; go_on often ;;
    20) end_work often ;;
    21) /app/brief "$(directory_of brief)" 0 200 20 5000 >/dev/null ;;
  esac
  sleep 5
  scrape "churn-$step"
  [ $((step % 24)) -ne 23 ] || note_held "churn-$step"
  step=$((step + 1))
done
stop_daemon
