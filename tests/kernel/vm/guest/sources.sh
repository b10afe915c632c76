# shellcheck shell=dash
# shellcheck source=/dev/null
. /guest/lib.sh

# The same work counted by records and by descriptors, at once; then cgroups of a millisecond each; then
# more cgroups than descriptors allow.

readonly second=http://127.0.0.1:10174
readonly source_config=${source_config:-sources} counted_by_work=${counted_by_work:-instructions:u}

# Without /tree: by descriptors, a cgroup that is counted above others takes counters of its own.
start_second() {
  sed -e "s/^cgroups: {/cgroups: {source: descriptors, /" -e 's|"/tree", ||' \
    "/guest/config/$source_config.yaml" >/run/second.yaml
  /app/perf_event_exporter --web.listen-address=127.0.0.1:10174 --config.file=/run/second.yaml \
    2>/run/second &
  second_daemon=$!
  await "the second daemon to be ready" wget -q -O /dev/null $second/-/ready
}

mark_both() {  # NAME; nothing works
  mark "$1"
  sleep 2
  wget -q -O - $second/metrics | grep '^perf_' | write_down scrape "$1-second"
}

for cgroup in tree tree/a tree/b tree/c; do
  new_cgroup $cgroup
done
start_work a tree/a 0 "$counted_by_work" burst 300
start_work b tree/b 0 "$counted_by_work" calls 700
start_work c tree/c 0 "$counted_by_work" pulse 500
start_daemon "$source_config"
start_second
mark_both start
for work in a b c; do
  note_switches $work $work-start
  go_on $work
done
sleep 10
for work in a b c; do
  halt $work
  note_switches $work $work-end
done
mark_both end
for work in a b c; do
  end_work $work
done

# Long bursts: few switches for what they execute.
start_work long-a tree/a 0 "$counted_by_work" burst 20000
start_work long-b tree/b 0 "$counted_by_work" calls 20000
mark_both long-start
for work in long-a long-b; do
  go_on $work
done
sleep 10
for work in long-a long-b; do
  halt $work
done
mark_both long-end
for work in long-a long-b; do
  end_work $work
done
kill -TERM "$second_daemon"
wait "$second_daemon"
echo $? | write_down status second
write_down stderr second </run/second

# A thousand in a minute, counted where they were.
scrape_after_polls before-lives
/app/brief "$(directory_of tree)" 0 1000 20 55000 | write_down lives brief
scrape_after_polls after-lives 3
stop_daemon

for number in $(seq 100); do
  new_cgroup "tree/$number"
done
ulimit -n 384
for source in records descriptors; do
  SOURCE=$source start_daemon "$source_config"
  scrape_after_polls "limited-$source"
  stop_daemon
done
