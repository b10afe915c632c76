# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# Five minutes of a small server, for a picture of the status page: a web server with clients, a
# backup, checksums, a report, a log and the exporter, each in a cgroup as systemd would make it.

config=/etc/perf_event_exporter/perf_event_exporter.yaml
mkdir -p /etc/perf_event_exporter /srv/data
cp /guest/config/page.yaml $config
cp /guest/*.sh /srv/data
seq 20000 >/srv/data/numbers

run_in() {  # CGROUP COMMAND...
  local cgroup
  cgroup=$(directory_of "$1")
  shift
  mkdir -p "$cgroup"
  # shellcheck disable=SC2016  # $0, $@ are for the shell that joins
  sh -c 'echo 0 >"$0" && exec "$@"' "$cgroup/cgroup.procs" "$@" &
}

forever() {  # CGROUP COMMAND
  run_in "$1" sh -c "while :; do $2; done" >/dev/null 2>&1
}

start_daemon_in() {  # CGROUP
  run_in "$1" /app/perf_event_exporter --web.listen-address=127.0.0.1:10173 --config.file=$config \
    2>/run/stderr
  # shellcheck disable=SC2034  # lib.sh asks for it
  daemon=$!
  await "the daemon to be ready" is_ready
}

run_in system.slice/httpd.service httpd -f -p 127.0.0.1:80 -h /srv
forever user.slice/user-1000.slice/session-1.scope \
  'wget -q -O - http://127.0.0.1/data/numbers | md5sum; usleep 200000'
forever system.slice/backup.service 'sleep 40; tar -c -C /srv data | gzip -9 >/run/backup.gz'
forever system.slice/checksum.service 'sha256sum /app/* /lib/*; sleep 20'
forever system.slice/report.service 'sort -rn /srv/data/numbers | uniq -c | tail -n 1; sleep 5'
run_in system.slice/syslogd.service syslogd -n
forever system.slice/cron.service 'logger tick; sleep 1'
start_daemon_in system.slice/perf_event_exporter.service
sleep 330
answer_to /metrics | write_down page metrics
answer_to /api/v1/status | write_down page status
stop_daemon
