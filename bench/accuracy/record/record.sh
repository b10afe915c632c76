#!/usr/bin/env bash
# Records what a kernel with a PMU says of groups that take turns, for the replay of bench_accuracy:
#
#   record.sh [SCOPE LOAD KERNEL]...      all that ../recordings holds, unless given
#
# KERNEL: 6.1 or 6.12, Debian's newest of that series, or 6.12-mistimed, the last with wrong times of
# cgroup groups (tests/kernel/vm/run.sh calls them so as well).
#
# Each recording is one boot of an emulated arm64 machine with one CPU, in which QEMU counts every
# instruction; recorder.cc is all that runs there. Virtual time: neither how busy this machine is nor
# how fast it is shows in the counts, and idle time takes none. Needs the packages of
# packaging/packages/vm.txt, but no root.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
readonly here root
readonly made=$root/build/vm/record

if (($# == 0)); then
  for load in steady on-2ms-off-6ms on-40ms-off-120ms on-2s-off-6s on-3s-every-60s \
    on-4ms-every-16.005ms user-kernel-idle user-kernel-busy; do
    set -- "$@" cpu "$load" 6.12
  done
  for load in steady on-2ms-off-6ms on-2s-off-6s user-kernel-idle; do
    set -- "$@" cgroup "$load" 6.12
  done
  for load in steady on-2s-off-6s; do
    set -- "$@" cgroup "$load" 6.12-mistimed
  done
  for load in 1-percent 5-percent switches; do
    set -- "$@" cgroup "$load" 6.1 cgroup "$load" 6.12 cgroup "$load" 6.12-mistimed
  done
fi

mkdir -p "$made"
aarch64-linux-gnu-g++ -static -std=c++20 -O2 -I "$root/tests" -o "$made/recorder" "$here/recorder.cc"
"$root/tests/kernel/vm/initramfs.sh" / "$made/initramfs.gz" "$made/recorder:init"

image_of() {  # KERNEL
  local most=''
  [[ $1 != 6.12-mistimed ]] || most=6.12.114
  "$root/tests/kernel/vm/fetch.sh" kernel "$root/build/vm/kernels/$1" "${1%-mistimed}" "$most"
}

record() {  # SCOPE LOAD KERNEL
  local recording=$here/../recordings/$1-$2
  [[ $3 == 6.12 ]] || recording+=-${3#6.12-}
  local seconds=150 image
  [[ $2 != on-3s-every-60s ]] || seconds=240  # a few of its bursts
  [[ $2 != switches ]] || seconds=60  # it never idles, and each second is like the one before
  image=$(image_of "$3")
  timeout 1800 qemu-system-aarch64 -M virt -cpu neoverse-n1 -smp 1 -m 256 -icount shift=3,sleep=off \
    -rtc base=2026-01-01,clock=vm -display none -monitor none -nodefaults -no-reboot -serial stdio \
    -kernel "$image" -initrd "$made/initramfs.gz" \
    -append "console=ttyAMA0 panic=-1 loglevel=0 nokaslr -- $1 $2 $seconds" </dev/null |
    tr -d '\r' >"$made/console"
  sed '0,/^RECORDING-BEGINS$/d; /^RECORDING-ENDS$/,$d' "$made/console" >"$made/recording"
  if (($(wc -l <"$made/recording") != seconds + 1)); then
    echo "record: $1 $2 failed:" >&2
    tail -n 20 "$made/console" >&2
    return 1
  fi
  mv "$made/recording" "$recording.txt"
  echo "record: ${recording##*/}.txt, $SECONDS s after the start"
}

while (($# > 0)); do
  record "$1" "$2" "$3"
  shift 3
done
