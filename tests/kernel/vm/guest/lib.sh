# shellcheck shell=dash
# What the scenarios are written in. Everything seen is written down in one record, entry by entry:
#   @@ KIND NAME UPTIME
#   TEXT...
# and judged by the host (pmu_test.py); nothing is judged here. Stops at the first failure.

readonly record=/run/record
readonly cgroups=/sys/fs/cgroup
readonly server=http://127.0.0.1:10173

write_down() {  # KIND NAME <TEXT
  local up
  read -r up _ </proc/uptime
  { echo "@@ $1 $2 $up"; cat; } >>"$record"
}

give_up() {
  echo "vm: gave up: $*"
  [ ! -e /run/stderr ] || cat /run/stderr
  exit 1
}

# Seldom enough that the waiting itself is next to nothing in the counts.
await() {  # WHAT COMMAND...
  local what=$1 tries=600
  shift
  until "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || give_up "waited in vain: $what"
    usleep 200000
  done
}

# --- the daemon -----------------------------------------------------------------------------------

# SOURCE is given on the kernel's command line, for scenarios that do not say how cgroups are counted.
config_file() {  # CONFIG
  [ -n "$SOURCE" ] || { echo "/guest/config/$1.yaml"; return; }
  sed "s/^cgroups: {/cgroups: {source: $SOURCE, /" "/guest/config/$1.yaml" >"/run/$1.yaml"
  echo "/run/$1.yaml"
}

start_daemon() {  # CONFIG [ARGS]; "default": the one that is compiled in
  config=$1
  shift
  [ "$config" = default ] || set -- "--config.file=$(config_file "$config")" "$@"
  /app/perf_event_exporter --web.listen-address=127.0.0.1:10173 "$@" 2>/run/stderr &
  daemon=$!
  await "the daemon to be ready" is_ready
}

answer_to() {  # PATH [ARGS_OF_WGET]
  local path=$1
  shift
  wget -q -O - "$@" "$server$path"
}

reload_daemon() { kill -HUP "$daemon"; }
pause_daemon() { kill -USR1 "$daemon"; }
resume_daemon() { kill -USR2 "$daemon"; }

is_ready() {
  [ -d "/proc/$daemon" ] || give_up "the daemon ended at its start"
  wget -q -O /dev/null $server/-/ready 2>/dev/null
}

stop_daemon() {
  kill -TERM "$daemon"
  wait "$daemon"
  echo $? | write_down status "$config"
  write_down stderr "$config" </run/stderr
  rm /run/stderr
}

# Its memory in kB, descriptors but for connections, and rings.
note_held() {  # NAME
  local fd
  {
    sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/memory \1/p' "/proc/$daemon/status"
    for fd in /proc/"$daemon"/fd/*; do
      readlink "$fd"
    done | grep -vc '^socket:' | sed 's/^/descriptors /'
    echo "rings $(grep -c 'anon_inode:.perf_event' "/proc/$daemon/maps")"
  } | write_down held "$1"
}

# While it stands still, nothing is opened, read or closed.
halt_daemon() { kill -STOP "$daemon"; }
let_daemon_go_on() { kill -CONT "$daemon"; }

# From within a cgroup of its own, as a service is: some of what it tries is done in the cgroup it is in.
doctor() {  # NAME [ARGS]
  local name=$1
  shift
  new_cgroup doctor
  # shellcheck disable=SC2016  # $0, $@ are for the shell that joins
  sh -c 'echo 0 >"$0" && exec "$@"' "$cgroups/doctor/cgroup.procs" /app/perf_event_exporter doctor \
    "$@" 2>&1 | write_down doctor "$name"
  remove_cgroup doctor
}

scrape() {  # NAME
  wget -q -O - $server/metrics >/run/metrics || give_up "no answer to a scrape"
  grep '^perf_' /run/metrics | write_down scrape "$1"
}

polls() { wget -q -O - $server/metrics | sed -n 's/^perf_event_exporter_polls_total //p'; }

has_polled() { [ "$(polls)" -ge "$1" ]; }

# Of counts that were all read after this call: a poll may be under way now.
scrape_after_polls() {  # NAME [POLLS]
  local from_now=${2:-2} seen
  seen=$(polls)
  sleep $((from_now - 1))  # they come once a second
  await "polls" has_polled $((seen + from_now))
  scrape "$1"
}

# --- cgroups and what runs in them (work.cc) ------------------------------------------------------

directory_of() { echo "$cgroups/$1"; }

new_cgroup() { mkdir "$cgroups/$1"; }

remove_cgroup() { await "the cgroup $1 to be empty" rmdir "$cgroups/$1" 2>/dev/null; }

# All stopped from the start, until they are let go.
start_work() {  # NAME CGROUP CPU TRUTH KIND [AMOUNT]
  local name=$1 cgroup=$2 cpu=$3 truth=$4
  shift 4
  rm -f "/run/$name.truth"
  /app/work "$cgroups/$cgroup" "$cpu" "$truth" "/run/$name.truth" "$@" &
  echo $! >"/run/$name.pid"
  await_stop "$name"
}

pid_of() { cat "/run/$1.pid"; }

go_on() { kill -CONT "$(pid_of "$1")"; }

# Lets it report what it counted itself.
halt() {
  kill -USR1 "$(pid_of "$1")"
  await_stop "$1"
}

end_work() {  # NAME
  kill -KILL "$(pid_of "$1")"
  wait "$(pid_of "$1")" 2>/dev/null
  rm "/run/$1.pid"
}

await_stop() { await "$1 to stop" is_stopped "$(pid_of "$1")"; }

is_stopped() {  # PID
  local stat
  read -r stat <"/proc/$1/stat" || give_up "process $1 ended"
  stat=${stat##*) }
  [ "${stat%% *}" = T ]
}

round() {  # NAME: of kind `loop`
  go_on "$1"
  await_stop "$1"
}

run_for() {  # SECONDS NAME
  go_on "$2"
  sleep "$1"
  halt "$2"
}

note_switches() {  # NAME MARK
  grep ctxt_switches "/proc/$(pid_of "$1")/status" | write_down switches "$2"
}

# What the exporter and the works say while nothing works, so that both speak of the same.
mark() {  # NAME
  local pid work
  for pid in /run/*.pid; do
    [ -e "$pid" ] || continue
    work=${pid##*/}
    work=${work%.pid}
    tail -n 1 "/run/$work.truth" | write_down truth "$1:$work"
  done
  scrape_after_polls "$1"
}
