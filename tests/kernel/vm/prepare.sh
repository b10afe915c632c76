#!/usr/bin/env bash
# What it takes to run the daemon in emulated machines: fetches libraries and kernels, and cross-builds
# the daemon for arm64.
#
#   prepare.sh SUBJECT   for messages: who needs it
#
# All is below build/vm, and stays there for the next time; who works there holds build/vm/.lock. Ends
# with 77, and a line that says why, where it cannot be done.
set -euo pipefail

subject=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
readonly subject root
readonly work=$root/build/vm
readonly sysroot=$work/sysroot

stage() { printf '\n=== [%3d s] %s: %s\n' "$SECONDS" "$subject" "$*"; }

skip() {
  printf 'SKIPPED: %s: %s\n' "$subject" "$*"
  exit 77
}

require_programs() {
  local program
  for program in qemu-system-aarch64 clang++ aarch64-linux-gnu-g++ aarch64-linux-gnu-readelf apt-get apt-cache \
    dpkg-deb cmake ninja cpio python3; do
    command -v "$program" >/dev/null || skip "$program is not installed (packaging/dependencies/vm.txt)"
  done
}

fetch_sysroot() {
  "$root/tests/kernel/vm/fetch.sh" sysroot "$sysroot" ||
    skip "the packages of packaging/dependencies/vm-sysroot.txt cannot be fetched"
}

fetch_kernels() {
  fetch_kernel 6.1 6.1 || return
  # Each of these has tests of its own, which skip without it.
  fetch_kernel 6.12 6.12 || true
  fetch_kernel 6.12-mistimed 6.12 6.12.114 || true  # the last with wrong times of cgroup groups
  fetch_kernel 6.18 6.18 6.18.15 || true            # loses last counts of a CPU that goes offline
}

fetch_kernel() {  # NAME SERIES [MAX]
  "$root/tests/kernel/vm/fetch.sh" kernel "$work/kernels/$1" "${@:2}"
}

# Only the daemon, without tests. Not optimised, it takes so much of short bursts that estimates of them
# are 8 % too low.
build_daemon() {
  if [[ ! $work/daemon/build.ninja -nt $sysroot/.holds ]]; then
    rm -rf "$work/daemon"
    cmake -S "$root" -B "$work/daemon" -G Ninja \
      -DCMAKE_TOOLCHAIN_FILE="$root/tests/kernel/vm/toolchain-arm64.cmake" -DPEX_SYSROOT="$sysroot" \
      -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DPEX_WERROR=ON
  fi
  cmake --build "$work/daemon" --target perf_event_exporter -- --quiet
}

require_programs
stage "fetch what runs in the machine"
fetch_kernels &
fetch_sysroot
stage "cross-build"
build_daemon
wait $! || skip "no kernel 6.1 can be fetched"
