# shellcheck shell=dash disable=SC2154  # variables of lib.sh
# shellcheck source=/dev/null
. /guest/lib.sh

# A machine of 2 CPUs on which six containers of pods compute, three to a CPU, and two instances of a
# service and one more service mostly sleep: scraped once a second, whole scrapes.

readonly pods=kubepods.slice/kubepods-burstable.slice
readonly system=system.slice
readonly seconds=6

# Ids are counted up, as wide as real ones.
pod_slice() { printf 'kubepods-burstable-pod00000000_0000_4000_8000_%012d.slice' "$1"; }
container_scope() { printf 'cri-containerd-%064d.scope' "$1"; }

begin() {  # NAME CGROUP CPU KIND [AMOUNT]
  mkdir -p "$cgroups/$2"
  start_work "$1" "$2" "$3" - "$4" "${5:-0}"
}

record_scrape() {  # NAME
  wget -q -O - "$server/metrics" | write_down scrape "$1"
}

for number in 1 2 3 4 5 6; do
  begin "pod-$number" "$pods/$(pod_slice $number)/$(container_scope $number)" $((number % 2)) spin
done
begin worker-1 "$system/system-worker.slice/worker@1.service" 0 pulse 1000
begin worker-2 "$system/system-worker.slice/worker@2.service" 1 pulse 2000
begin cron "$system/cron.service" 0 pulse 500
start_daemon monitoring
for work in pod-1 pod-2 pod-3 pod-4 pod-5 pod-6 worker-1 worker-2 cron; do go_on $work; done
second=0
while [ $second -lt $seconds ]; do
  sleep 1
  record_scrape "$second"
  echo "scrape $second"
  second=$((second + 1))
done
stop_daemon
