#!/usr/bin/env bash
# Builds and runs all tests, in three builds: what is shipped, with the tests of the whole program, its
# packages and its image; under AddressSanitizer and UndefinedBehaviorSanitizer, with the tests of its
# parts and those of the program in which much goes wrong; and under ThreadSanitizer, with the tests of
# what runs in several threads. Called by `./dev test`.
#
#   run.sh [CTEST_ARGS...]
#   run.sh --list            which tests there are, and which of them run with what is installed
#
# JOBS, from the environment, is how many files are compiled at once; at most as many as there are cores.
# The second and the third build are compiled while the tests of the first wait. Tests that need the machine for
# themselves are RUN_SERIAL; of the others three run at once, as most of them wait.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
export JOBS=${JOBS:-$(nproc)}
readonly install=$root/packaging/packages/install.sh
# What tests take that are skipped where it cannot be installed.
readonly lists=(clients vm docs packages package-tests systemd image kubernetes monitoring)

stage() { printf '\n=== [%4d s] %s\n' "$SECONDS" "$*"; }

install_all() {
  "$install" "${lists[@]}" && return
  local list
  for list in "${lists[@]}"; do
    "$install" "$list" || echo "dev: not all of packaging/packages/$list.txt can be installed"
  done
}

# The subjects and what each needs are in tests/needs.txt.
list_tests() {
  local name needs need missing
  while read -r name needs; do
    missing=
    for need in $needs; do
      has "$need" || missing+=" $need"
    done
    if [[ -z $missing ]]; then
      printf 'runs    %s\n' "$name"
    else
      printf 'skips   %-22s not here:%s\n' "$name" "$missing"
    fi
  done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$root/tests/needs.txt")
}

has() {  # root, a command, or kubectl-VERSION: one of that version or later
  local version
  case $1 in
    root) ((EUID == 0)) ;;
    kubectl-*)
      version=$(kubectl version --client -o yaml 2>/dev/null | sed -n 's/^  gitVersion: v//p')
      [[ -n $version ]] && printf '%s\n' "${1#*-}" "$version" | sort -C -V
      ;;
    *) PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null ;;
  esac
}

compile() {  # PRESET [CMAKE_ARGS...]
  (cd "$root" && cmake --preset "$1" "${@:2}") &&
    cmake --build "$root/build/$1" --parallel "$JOBS" -- --quiet
}

# One after the other, as they share the cores; each into build/PRESET.log. Where clang++ cannot be had,
# g++ does it as well, in twice the time.
compile_later() {  # PRESET [PID]: that process ends first
  local compiler=clang++
  command -v clang++ >/dev/null || compiler=g++
  [[ -z ${2:-} ]] || tail --pid="$2" -f /dev/null
  nice bash -c "$(declare -f compile); root=${root@Q}; compile $1 -DCMAKE_CXX_COMPILER=$compiler" \
    >"$root/build/$1.log" 2>&1
}

# ThreadSanitizer of clang 14 ends a program at its start ("unexpected memory mapping") where the kernel
# spreads addresses over more than it expects (vm.mmap_rnd_bits above 28). There they must not be random,
# which containers may forbid.
fix_addresses() {
  setarch -R true 2>/dev/null && under=(setarch -R)
  [[ $("${under[@]}" "$root/build/tsan/tests/workload" 2>&1) == *"FATAL: ThreadSanitizer"* ]] || return 0
  echo "SKIPPED: tsan: its programs do not start here; sysctl vm.mmap_rnd_bits=28 makes them run"
  return 1
}

run_tests() {  # PRESET JOBS CTEST_ARGS...
  local -r log=$root/build/$1/ctest.log
  local status=0
  local -a under=()
  [[ $1 != tsan ]] || fix_addresses || return 0
  UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1} \
    TSAN_OPTIONS=${TSAN_OPTIONS:-second_deadlock_stack=1} \
    "${under[@]}" ctest --test-dir "$root/build/$1" --output-on-failure --no-tests=ignore --output-log "$log" \
    --parallel "$2" "${@:3}" || status=$?
  show_skips "$root/build/$1/Testing/Temporary/LastTest.log"
  return $status
}

# ctest shows that a test was skipped, but neither why nor that a part of one was.
show_skips() {  # LOG
  grep -h -A1 -E '^SKIPPED: |: Skipped$' "$1" | grep -vE '^--$|^$|: Skipped$|^<end of output>$' |
    sed -e 's/^SKIPPED: //' -e 's/^/SKIPPED: /' || true
}

# The line of ctest and the names of what failed, for those who read the last lines alone.
summary() {  # PRESET
  local -r log=$root/build/$1/ctest.log
  echo "$1: $(grep -E '^[0-9]+% tests passed' "$log" 2>/dev/null || echo 'no tests were run')"
  sed -n '/^The following tests FAILED:/,/^$/p' "$log" 2>/dev/null | sed 1d
}

# For the same readers: how each failed test ended.
failures() {  # PRESET
  awk -v most=40 '
    /^[0-9]+\/[0-9]+ Testing: / { name = $3; lines = 0 }
    { line[lines++] = substr($0, 1, 400) }
    /^Test Failed\.$|^Test time = .*Timeout/ {
      printf "--- %s\n", name
      for (i = lines > most ? lines - most : 0; i < lines; i++) print line[i]
    }' "$root/build/$1/Testing/Temporary/LastTest.log" 2>/dev/null || true
}

if [[ ${1:-} == --list ]]; then
  list_tests
  exit
fi
failed=false
stage "install what tests need"
install_all
stage "release: build"
rm -f "$root"/build/{release,asan,tsan}/ctest.log
compile release -DPEX_TESTS=system
stage "release: test; asan and tsan: build, into build/asan.log and build/tsan.log"
declare -A compiling
compile_later asan &
compiling[asan]=$!
compile_later tsan $! &
compiling[tsan]=$!
run_tests release 3 "$@" || failed=true
stage "$(summary release)"
for preset in asan tsan; do
  if wait "${compiling[$preset]}"; then
    stage "$preset: test"
    run_tests $preset 3 "$@" || failed=true
  else
    cat "$root/build/$preset.log"
    failed=true
  fi
done
for preset in release asan tsan; do stage "$(summary $preset)"; done
for preset in release asan tsan; do failures $preset; done
grep -qsE '^[0-9]+% tests passed' "$root"/build/{release,asan,tsan}/ctest.log || failed=true  # of a wrong name
! $failed
