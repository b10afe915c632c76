#!/usr/bin/env bash
# The daemon on hardware counters: cross-builds it for arm64, boots it in emulated machines that have a
# PMU, and judges there what it serves; and as it is here in amd64 machines, which have none. `./dev vm-test` installs what this needs.
#
#   run.sh [PART_OF_A_TEST'S_NAME...]
#   run.sh --gate | --others     the machines that guard a merge, or all others
#   run.sh --picture [OUT.png]   instead, makes the picture of the status page (docs/status-page.png)
#
# Works in build/vm, where libraries, kernels and objects stay for the next time. Ends with 77, and a
# line that says why, where it cannot run.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
readonly here root
readonly work=$root/build/vm
readonly sysroot=$work/sysroot

# Some use the library. `records` is the program of real.perf_records.
build_guest_programs() {
  local source
  mkdir -p "$work/guest"
  for source in "$here"/guest/*.cc; do
    build_guest_program "$(basename "$source" .cc)" "$source"
  done
  build_guest_program records "$here"/../{records,record_lines,perf_data}.cc
  build_guest_program brief "$here"/../brief.cc
}

build_guest_program() {  # NAME SOURCE...
  local program=$work/guest/$1 libraries=("$work"/daemon/lib/libperf_event_exporter_{abi,perf,host,base}.a)
  shift
  [[ -e $program && -z $(find "$here"/guest/*.h "$here"/../*.h "$@" "${libraries[@]}" \
    -newer "$program" -print -quit) ]] ||
    aarch64-linux-gnu-g++ -std=c++20 -O2 -static -Wall -Wextra -Wpedantic -Wshadow -Wold-style-cast \
      -Werror -I "$root/tests" -I "$root/lib" -o "$program" "$@" "${libraries[@]}"
}

# Machines like this one, without hardware counters: what they run is built here.
prepare_amd64() {
  local release=$root/build/release series source
  if [[ $(uname -m) != x86_64 || ! -x /bin/busybox ]] || ! command -v qemu-system-x86_64 >/dev/null; then
    echo "fetch: no kernels for amd64, which need an amd64 host, qemu-system-x86_64 and busybox" >&2
    return
  fi
  [[ -e $release/CMakeCache.txt ]] || cmake --preset release -S "$root"
  cmake --build "$release" --target perf_event_exporter
  for series in 5.10 6.12 6.16 7.3; do
    ARCH=amd64 "$here/fetch.sh" kernel "$work/kernels/amd64-$series" $series || true
  done
  mkdir -p "$work/guest-amd64"
  for source in "$here/guest/work.cc" "$here/../brief.cc"; do
    g++ -std=c++20 -O2 -static -I "$root/tests" -I "$root/lib" \
      -o "$work/guest-amd64/$(basename "$source" .cc)" "$source" \
      "$release"/lib/libperf_event_exporter_{abi,perf,host,base}.a
  done
  "$here/initramfs.sh" / "$work/amd64.cpio" "$release/daemon/perf_event_exporter" \
    "$work"/guest-amd64/{work,brief} /bin/busybox:bin/busybox "$here/guest/init:init" "$here/guest:guest"
}

pack() {
  "$here/initramfs.sh" "$sysroot" "$work/base.cpio" "$work/daemon/daemon/perf_event_exporter" \
    "$work"/guest/{work,hold,rotation,control_page,records,brief} \
    "$sysroot/bin/busybox:bin/busybox" "$here/guest/init:init" "$here/guest:guest"
  [[ -e $work/perf.cpio && $work/perf.cpio -nt $sysroot/.holds ]] ||
    "$here/initramfs.sh" "$sysroot" "$work/perf.cpio" "$sysroot/usr/bin/perf"
}

mkdir -p "$work"
exec 9>"$work/.lock"
flock 9  # one at a time
"$here/prepare.sh" vm
build_guest_programs
pack
if [[ ${1:-} != --gate ]]; then
  for series in 5.10 6.16 7.0 7.3; do
    "$here/fetch.sh" kernel "$work/kernels/$series" $series || true
  done
  prepare_amd64
fi
printf '\n=== [%3d s] vm: run\n' "$SECONDS"
export PYTHONPYCACHEPREFIX=$root/build/pycache
if [[ ${1:-} == --picture ]]; then
  exec python3 "$here/picture.py" "$work" "${2:-$root/docs/status-page.png}"
fi
python3 "$here/pmu_test.py" "$work" "$@"
