# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# ROUNDS of two minutes on a machine where nothing is wrong: the configuration that is compiled in, six
# services, and a job that starts each minute.

run_job() {
  new_cgroup system.slice/job.service
  # shellcheck disable=SC2016  # for that shell
  sh -c 'echo 0 >"$0/cgroup.procs"; i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done' \
    "$(directory_of system.slice/job.service)"
  remove_cgroup system.slice/job.service
}

new_cgroup system.slice
cpu=0
for service in a b c d e f; do
  new_cgroup "system.slice/$service.service"
  start_work $service "system.slice/$service.service" $cpu - pulse $((2000 + 3000 * cpu))
  go_on $service
  cpu=$((1 - cpu))
done
start_daemon default
step=0
while [ $step -lt $((8 * ROUNDS)) ]; do
  sleep 15
  [ $((step % 4)) -ne 0 ] || run_job
  scrape "quiet-$step"
  step=$((step + 1))
done
stop_daemon
