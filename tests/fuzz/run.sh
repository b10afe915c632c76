#!/usr/bin/env bash
# Runs fuzzers of preset fuzz, which `./dev fuzz` has built.
#
#   run.sh SECONDS [SUBJECT...]   each of them for that long, JOBS at once
#   run.sh merge [SUBJECT...]     adds to the committed corpus what covers more than it
#
# The subjects are those of tests/fuzz/SUBJECT_fuzzer.cc. What a run finds to cover more is kept in
# build/fuzz/corpus/SUBJECT, where the next one starts, beside the committed tests/fuzz/corpus/SUBJECT.
# Prints one line for each subject, and fails if one of them found an error; its input is kept.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly root build=$root/build/fuzz
# Of one input: seconds, and megabytes of the whole process, most of which are the sanitizer's.
readonly max_time=20 max_memory=3000
export root build max_time max_memory

subjects() { (cd "$root/tests/fuzz" && printf '%s\n' *_fuzzer.cc) | sed 's/_fuzzer\.cc$//'; }

fuzzer() { printf '%s/tests/fuzz/%s_fuzzer' "$build" "$1"; }

fuzz() {  # SECONDS SUBJECT
  local -r subject=$2 log=$build/$2.log found=$build/found/$2
  local status=0 seeds=("$root/tests/fuzz/corpus/$2")
  [[ $2 != config ]] || seeds+=("$root/config" "$root/tests/e2e/cases")
  mkdir -p "$build/corpus/$subject" "$found"
  "$(fuzzer "$subject")" -max_total_time="$1" -timeout=$max_time -rss_limit_mb=$max_memory \
    -print_final_stats=1 -artifact_prefix="$found/" \
    "$build/corpus/$subject" "${seeds[@]}" >"$log" 2>&1 || status=$?
  report "$subject" "$log" "$status"
  return "$status"
}

report() {  # SUBJECT LOG STATUS
  local runs covered input
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$2")
  covered=$(sed -n 's/^#.* cov: \([0-9]*\) .*/\1/p' "$2" | tail -n 1)
  input=$(sed -n 's/^.*Test unit written to //p' "$2" | tail -n 1)
  printf '%-16s %9s executions, %6s edges covered, %s\n' "$1" "${runs:-0}" "${covered:-0}" \
    "$( (($3 == 0)) && echo 'nothing found' || echo "FAILED: $2")"
  [[ -z $input ]] || printf '%-16s reproduce it: %s %s\n' "" "$(fuzzer "$1")" "$input"
}

merge() {  # SUBJECT
  local -r corpus=$root/tests/fuzz/corpus/$1
  mkdir -p "$corpus" "$build/corpus/$1"
  # By edges alone, not by how often each is taken: some tens of files in place of hundreds.
  "$(fuzzer "$1")" -merge=1 -use_counters=0 "$corpus" "$build/corpus/$1" >"$build/$1.log" 2>&1
  printf '%-16s %5d files\n' "$1" "$(find "$corpus" -type f | wc -l)"
}
export -f fuzzer fuzz report merge

what=${1:?seconds, or merge}
shift
(($# > 0)) || mapfile -t -O 0 all < <(subjects)
(($# > 0)) || set -- "${all[@]}"
for subject; do
  [[ -x $(fuzzer "$subject") ]] && continue
  echo "no such subject: $subject; there are: $(subjects | tr '\n' ' ')" >&2
  exit 2
done

# Some write small trees of files for each input.
scratch=$(mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
command=("fuzz" "$what")
[[ $what == merge ]] && command=(merge)
# shellcheck disable=SC2016  # the parameters are of that shell
printf '%s\n' "$@" | xargs -P "${JOBS:-$(nproc)}" -I '{}' bash -c '"$@"' - "${command[@]}" '{}'
