#!/usr/bin/env bash
# What to run before each commit: format, layout, documents, and the test programs that were linked
# since they last passed; all of them if a file has changed that they may read. Called by `./dev check`,
# which has built preset dev.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root build=$root/build/dev

stage() { printf '\n=== [%3d s] %s\n' "$SECONDS" "$*"; }

# Prints what a program reports only if it fails.
run_program() {  # PROGRAM
  local -r stamp=$1.passed
  [[ ! $stamp -nt $1 || ! $stamp -nt $newest_data ]] || return 0
  echo "${1##*/}"
  if RC_PARAMS=seed=20260901 "$1" --gtest_brief=1 >"$1.log" 2>&1; then
    touch "$stamp"
  else
    cat "$1.log"
    return 1
  fi
}
export -f run_program
newest_data=$(find "$root"/{tests,docs,config,packaging} -name __pycache__ -prune -o -type f \
  ! -name '*.cc' ! -name '*.h' ! -name '*.py' ! -name '*.pyc' -printf '%T@ %p\n' | sort -rn | sed -n '1s/[^ ]* //p')
export newest_data

failed=false
stage "format"
find "$root" -path "$root/build" -prune -o -name '*.h' -print0 -o -name '*.cc' -print0 |
  xargs -0 -P "$(nproc)" -n 64 clang-format --dry-run --Werror || failed=true
stage "layout and documents"
ctest --test-dir "$build" --label-regex '^(layout|docs)$' -FS '_tests$' -j "$(nproc)" \
  --output-on-failure --progress || failed=true
stage "test programs that were linked since they last passed"
# shellcheck disable=SC2016  # $0 is for that shell
find "$build/tests" -maxdepth 2 -name '*_test' -type f -executable -print0 |
  xargs -0 -P "$(nproc)" -n 1 bash -c 'run_program "$0"' || failed=true
stage "$($failed && echo failed || echo passed)"
! $failed
