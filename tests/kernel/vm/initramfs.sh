#!/usr/bin/env bash
# Packs an initramfs for the emulated machine:
#
#   initramfs.sh SYSROOT OUT PROGRAM|SOURCE:DESTINATION...
#
# Each PROGRAM comes to /app with the shared libraries it needs from SYSROOT, found by readelf, as it
# cannot run here. Several archives, one after the other, are one initramfs.
set -euo pipefail

sysroot=$1 out=$2
shift 2
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
declare -A packed=()

readelf() { aarch64-linux-gnu-readelf "$@"; }

find_library() {  # NAME
  find -L "$sysroot"/{lib,usr/lib} -maxdepth 2 -name "$1" -type f -print -quit
}

pack_libraries_of() {  # FILE
  local name path
  for name in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    [[ -z ${packed[$name]:-} ]] || continue
    packed[$name]=1
    path=$(find_library "$name")
    [[ -n $path ]] || { echo "initramfs: the sysroot has no $name, which $1 needs" >&2; exit 1; }
    install -D -m 755 "$path" "$stage/lib/$name"
    pack_libraries_of "$path"
  done
}

pack_program() {  # FILE
  install -D -m 755 -t "$stage/app" "$1"
  local loader
  loader=$(readelf -l "$1" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
  [[ -z $loader ]] || install -D -m 755 "$(find_library "${loader##*/}")" "$stage$loader"
  pack_libraries_of "$1"
}

for item; do
  if [[ $item == *:* ]]; then
    mkdir -p "$stage/$(dirname "${item#*:}")"
    cp -rL "${item%%:*}" "$stage/${item#*:}"
  else
    pack_program "$item"
  fi
done
# Not compressed: the emulated machine would take longer to unpack it than it takes for all else.
(cd "$stage" && find . -mindepth 1 -print0 | sort -z | cpio --quiet --null -o -H newc -R 0:0) >"$out"
