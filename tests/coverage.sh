#!/usr/bin/env bash
# Which lines of lib and daemon tests run: of the unit tests, the golden cases, and of those tests on the
# real kernel that take few seconds. Called by `./dev coverage`, which has built preset coverage.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root build=$root/build/coverage
# Without those that give the daemon little memory or the rights of another user: gcov needs more for
# itself. Without optimisation brief cgroups are gone before they are named (records).
readonly real='errors|events|limits|load|reload|rights|sums|truth|web'

stage() { printf '\n=== [%3d s] %s\n' "$SECONDS" "$*"; }

# As a whole: each process adds what it has counted to the file of each object.
run_program() {  # PROGRAM
  RC_PARAMS=seed=20260901 "$1" --gtest_brief=1 >"$1.log" 2>&1 && return
  echo "${1##*/} failed:"
  cat "$1.log"
  return 1
}
export -f run_program

failed=false
find "$build" -name '*.gcda' -delete
stage "unit tests and golden cases"
# shellcheck disable=SC2016  # $0 is for that shell
find "$build/tests" -maxdepth 2 \( -path '*/unit/*_test' -o -name golden_test \) -type f -executable \
  -print0 | xargs -0 -P "$(nproc)" -n 1 bash -c 'run_program "$0"' || failed=true
stage "tests on the real kernel"
ctest --test-dir "$build" --tests-regex "^real[.]($real)\$" --parallel 3 \
  --output-on-failure || failed=true
stage "lines that have run"
for part in lib daemon; do
  gcovr --root "$root" --filter "$root/$part/" -j "$(nproc)" --sort-percentage \
    --fail-under-line "$([[ $part == lib ]] && echo 95 || echo 85)" "$build" || failed=true
done
stage "$($failed && echo failed || echo passed)"
! $failed
