#!/usr/bin/env bash
# Format, clang-tidy, the warnings of clang++, shell scripts and Python. Called by `./dev lint`, which has
# configured preset lint.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root

stage() { printf '\n=== [%3d s] %s\n' "$SECONDS" "$*"; }

our_files() {  # FIND_EXPRESSION...
  find "$root" \( -path "$root/build" -o -path "$root/.git" \) -prune -o -type f \( "$@" \) -print0 | sort -z
}

failed=false
stage "clang-format"
our_files -name '*.h' -o -name '*.cc' | xargs -0 clang-format --dry-run --Werror || failed=true
stage "shellcheck"
our_files -name dev -o -name '*.sh' -o -path '*/.ci/run' | xargs -0 shellcheck || failed=true
stage "python"
our_files -name '*.py' | PYTHONPYCACHEPREFIX=$root/build/pycache xargs -0 python3 -m py_compile ||
  failed=true
stage "clang-tidy"
(cd "$root" && run-clang-tidy -quiet -p build/lint -j "$(nproc)" "^$root/(lib|daemon|bench)/") || failed=true
stage "clang++: warnings in tests"  # clang-tidy has to check something else as well
(cd "$root" && run-clang-tidy -quiet -p build/lint -j "$(nproc)" -header-filter='/(lib|daemon|tests)/' \
  -checks='-*,clang-diagnostic-*,misc-unused-using-decls' "^$root/(tests|docs)/") || failed=true
stage "$($failed && echo failed || echo passed)"
! $failed
