#!/usr/bin/env bash
# The daemon on hardware counters: cross-builds it for arm64, boots it in emulated machines that have a
# PMU, and judges there what it serves. `./dev vm-test` installs what this needs.
#
#   run.sh [PART_OF_A_TEST'S_NAME...]
#
# Works in build/vm, where libraries, kernels and objects stay for the next time. Ends with 77, and a
# line that says why, where it cannot run.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
readonly here root
readonly work=$root/build/vm
readonly sysroot=$work/sysroot

stage() { printf '\n=== [%3d s] vm: %s\n' "$SECONDS" "$*"; }

skip() {
  printf 'SKIPPED: vm: %s\n' "$*"
  exit 77
}

require_programs() {
  local program
  for program in qemu-system-aarch64 aarch64-linux-gnu-g++ aarch64-linux-gnu-readelf apt-get apt-cache \
    dpkg-deb cmake ninja cpio python3; do
    command -v "$program" >/dev/null || skip "$program is not installed (packaging/packages/vm.txt)"
  done
}

fetch() {
  "$here/fetch.sh" sysroot "$sysroot" || skip "the packages of packaging/packages/vm-sysroot.txt cannot be fetched"
  fetch_kernel 6.1 6.1 || skip "no kernel 6.1 can be fetched"
  # Each of these has tests of its own, which skip without it.
  fetch_kernel 6.12 6.12 || true
  fetch_kernel 6.12-mistimed 6.12 6.12.114 || true  # the last with wrong times of cgroup groups
}

fetch_kernel() {  # NAME SERIES [MAX]
  "$here/fetch.sh" kernel "$work/kernels/$1" "${@:2}"
}

# Only the daemon, without tests, lightly optimised: it shall be there soon.
build_daemon() {
  if [[ ! $work/daemon/build.ninja -nt $sysroot/.holds ]]; then
    rm -rf "$work/daemon"
    cmake -S "$root" -B "$work/daemon" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$here/toolchain-arm64.cmake" \
      -DPEX_SYSROOT="$sysroot" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DPEX_TESTS=OFF
  fi
  cmake --build "$work/daemon" --target perf_event_exporter -- --quiet
}

build_guest_programs() {
  local source program
  mkdir -p "$work/guest"
  for source in "$here"/guest/*.cc; do
    program=$work/guest/$(basename "$source" .cc)
    [[ $program -nt $source && $program -nt $here/guest/counter.h ]] ||
      aarch64-linux-gnu-g++ -std=c++20 -O2 -static -Wall -Wextra -Wpedantic -Wshadow -Wold-style-cast \
        -Werror -I "$root/tests" -o "$program" "$source"
  done
}

pack() {
  "$here/initramfs.sh" "$sysroot" "$work/base.cpio.gz" "$work/daemon/daemon/perf_event_exporter" \
    "$work"/guest/{work,hold,rotation} "$sysroot/bin/busybox:bin/busybox" "$here/guest/init:init" \
    "$here/guest:guest"
  [[ -e $work/perf.cpio.gz && $work/perf.cpio.gz -nt $sysroot/.holds ]] ||
    "$here/initramfs.sh" "$sysroot" "$work/perf.cpio.gz" "$sysroot/usr/bin/perf"
}

require_programs
mkdir -p "$work"
exec 9>"$work/.lock"
flock 9  # one at a time
stage "fetch what runs in the machine"
fetch
stage "cross-build"
build_daemon
build_guest_programs
pack
stage "run"
export PYTHONPYCACHEPREFIX=$root/build/pycache
python3 "$here/pmu_test.py" "$work" "$@"
