#!/usr/bin/env bash
# Compiles and runs tests: the gate or the second ring (tests/needs.txt). Called by `./dev test`.
#
#   run.sh [--all | --second] [--changed BASE] [CTEST_ARGS...]
#
# --all: both rings. --changed: the tests that the changes since BASE touch (tests/changed.txt). The tests of
# release run while asan is compiled, first those that need the machine for themselves.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root logs=$root/build/test
ring=gate args=()
while (($# > 0)); do
  case $1 in
    --all | --second) ring=${1#--} ;;
    --changed) args+=(-R "$(python3 "$root/tests/which_tests.py" --changed "$2")") && shift ;;
    *) args+=("$1") ;;
  esac
  shift
done
failed=false targets=(unit_tests) parts='^(docs|e2e|fuzz|unit)$' of_ring=(-LE 'second|alone') alone=(-LE second)
if [[ $ring != gate ]]; then
  export PEX_PROPERTY_SECONDS=20 && targets+=(system_tests)
  parts='^(docs|e2e|fuzz|real|unit)$' of_ring=(-LE alone) alone=()
fi
[[ $ring != second ]] || { parts='^(real|unit)$' of_ring+=(-L second) alone=(-L second); }

stage() { printf '\n=== [%4d s] %s\n' "$SECONDS" "$*"; }

compile() {  # PRESET NICENESS TARGET...
  local compiler=()
  [[ $1 == release ]] || command -v clang++ >/dev/null || compiler=(-DCMAKE_CXX_COMPILER=g++)
  (cd "$root" && cmake --preset "$1" ${compiler[@]+"${compiler[@]}"} >/dev/null &&
    nice -n "$2" cmake --build "build/$1" -j "${JOBS:-$(nproc)}" --target "${@:3}" -- --quiet)
}

check() {  # NAME PRESET JOBS CTEST_ARGS...: what is compiled
  (cd "$root" && ctest --preset "$2" -j "$3" -FS '_tests$' --no-tests=ignore --output-junit "$logs/$1.xml" \
    --test-output-size-passed 65536 "${@:4}" ${args[@]+"${args[@]}"})
}

rm -rf "$logs" && mkdir -p "$logs" "$root/build/vm"
((${#args[@]})) || flock "$root/build/vm/.lock" "$root/tests/kernel/vm/prepare.sh" vm >"$logs/vm.log" 2>&1 &
stage "release: compile; vm: fetch what the emulated machines need, and compile"
compile release 0 all system_tests
stage "asan: compile; release: test"
compile asan 5 "${targets[@]}" &  # behind the tests, but not behind every other program
asan=$!
check alone release 1 -L alone "${alone[@]}" || failed=true
check release release 5 -L '^(accuracy|image|kubernetes|layout|monitoring|packages|real|systemd|vm)$' "${of_ring[@]}" &
release=$!
wait $asan || { kill $release && exit 1; }
check asan asan 4 -L "$parts" -LE 'second|alone' >"$logs/asan.log" 2>&1 || failed=true
wait $release || failed=true; cat "$logs/asan.log"
if [[ $ring != gate ]]; then
  stage "tsan: compile and test"  # clang's ends where addresses are spread widely (vm.mmap_rnd_bits)
  compile tsan 0 unit_tests system_tests
  setarch -R bash -c "$(declare -f check); $(declare -p root logs args); check tsan tsan 2" || failed=true
fi
python3 "$root/tests/report.py" "$logs"/*.xml && ! $failed
