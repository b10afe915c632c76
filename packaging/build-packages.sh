#!/usr/bin/env bash
# Makes packages for this machine of a tree that was built. Their contents: docs/install.md.
#
#   build-packages.sh BUILD OUT [KIND...]   KIND is deb, rpm or tgz; all of them by default
#
# BUILD is the directory of preset release with the program and its manual pages. Needs the packages
# of packaging/dependencies/packages.txt. `dpkg-buildpackage`, with packaging/debian as ./debian, compiles
# by itself.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "${1:?usage: build-packages.sh BUILD OUT [deb|rpm|tgz...]}")
out=$(realpath -m "${2:?usage: build-packages.sh BUILD OUT [deb|rpm|tgz...]}")
kinds=${*:3}
readonly root build out
readonly source=$out/source

# dpkg-buildpackage wants to work in a source tree with a ./debian: a copy, so ours stays as it is.
copy_tree() {
  rm -rf "$source"
  mkdir -p "$source"
  tar -C "$root" --exclude=./build --exclude=./.git --exclude="./${out#"$root"/}" -cf - . | tar -C "$source" -xf -
  cp -a "$source/packaging/debian" "$source/debian"
}

# Debug symbols take long to compress: DEB_BUILD_OPTIONS=noautodbgsym leaves them out.
pack_deb() {
  copy_tree
  rm -f "$out"/*perf-event-exporter*_*.{deb,changes,buildinfo}
  (cd "$source" && PEX_BUILD=$build DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS-}" dpkg-buildpackage \
    --build=binary --no-sign --no-pre-clean --build-profiles=nocheck)
}

# To fakeroot all files are root's, as an archive shall have them that root unpacks.
pack() {  # CPACK_GENERATOR PATTERN
  # shellcheck disable=SC2086  # the pattern is meant to be expanded
  rm -rf "$out/cpack" "$out"/$2
  fakeroot cpack --config "$build/CPackConfig.cmake" -G "$1" -B "$out/cpack"
  # shellcheck disable=SC2086
  mv "$out"/cpack/$2 "$out/"
  rm -rf "$out/cpack"
}

mkdir -p "$out"
for kind in ${kinds:-deb rpm tgz}; do
  case $kind in
    deb) pack_deb ;;
    rpm) pack RPM 'perf-event-exporter-*.rpm' ;;
    tgz) pack TGZ 'perf_event_exporter-*.tar.gz' ;;
    *)
      echo "build-packages.sh: no such kind: $kind" >&2
      exit 2
      ;;
  esac
done
echo "in $out:"
find "$out" -maxdepth 1 \( -name '*.deb' -o -name '*.rpm' -o -name '*.tar.gz' \) -printf '%f\n' | sort
