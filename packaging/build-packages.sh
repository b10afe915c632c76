#!/usr/bin/env bash
# Makes packages of this tree for this machine. Their contents: docs/install.md.
#
#   build-packages.sh OUT [KIND...]   KIND is deb, rpm or tgz; all of them by default
#
# Compiles once, for all kinds, in OUT/source: a copy, so this tree stays as it is. With ccache, what
# has not changed is not compiled again. Needs the packages of packaging/packages/build.txt and
# packages.txt.
#
#   DEB_BUILD_OPTIONS   of the .deb (Debian policy, 4.9.1). Unless set it is "nocheck"; without that
#                       word the unit tests are compiled and run as well.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$(realpath -m "${1:?usage: build-packages.sh OUT [deb|rpm|tgz...]}")
kinds=" ${*:2} "
readonly root out
readonly source=$out/source
[[ $kinds != "  " ]] || kinds=' deb rpm tgz '
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-nocheck}

wants() { [[ $kinds == *" $1 "* ]]; }

copy_tree() {
  rm -rf "$source"
  mkdir -p "$source"
  tar -C "$root" --exclude=./build --exclude=./.git --exclude="./${out#"$root"/}" -cf - . | tar -C "$source" -xf -
  cp -a "$source/packaging/debian" "$source/debian"
}

# Packages are built with a home directory that is empty, and in a directory of their own.
use_ccache() {
  command -v ccache >/dev/null || return 0
  CCACHE_DIR=${CCACHE_DIR:-$(ccache --get-config=cache_dir)}
  export CCACHE_DIR CCACHE_BASEDIR=$source CCACHE_NOHASHDIR=1
}

buildpackage() {  # OPTIONS...
  local -a profiles=()
  [[ " $DEB_BUILD_OPTIONS " != *" nocheck "* ]] || profiles=(--build-profiles=nocheck)
  (cd "$source" && dpkg-buildpackage --build=binary --no-sign --no-pre-clean \
    --jobs="${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" "${profiles[@]}" "$@")
}

# To fakeroot all files are root's, as an archive shall have them that root unpacks.
pack() {  # CPACK_GENERATOR PATTERN
  rm -rf "$out/cpack"
  fakeroot cpack --config "$source/obj/CPackConfig.cmake" -G "$1" -B "$out/cpack"
  # shellcheck disable=SC2086  # the pattern is meant to be expanded
  mv "$out"/cpack/$2 "$out/"
  rm -rf "$out/cpack"
}

for kind in $kinds; do
  [[ $kind =~ ^(deb|rpm|tgz)$ ]] || { echo "build-packages.sh: no such kind: $kind" >&2; exit 2; }
done
copy_tree
use_ccache
if wants deb; then
  rm -f "$out"/*perf-event-exporter*_*.{deb,changes,buildinfo}
  buildpackage
else
  buildpackage --target=build
fi
if wants rpm; then
  rm -f "$out"/perf-event-exporter-*.rpm
  pack RPM 'perf-event-exporter-*.rpm'
fi
if wants tgz; then
  rm -f "$out"/perf_event_exporter-*.tar.gz
  pack TGZ 'perf_event_exporter-*.tar.gz'
fi
