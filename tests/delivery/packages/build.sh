#!/usr/bin/env bash
# Makes the packages that others test: build.sh SOURCE_DIR BUILD OUT. Ends with 77 where it cannot.
set -euo pipefail

for program in dpkg-buildpackage dh scdoc rpmbuild cpack fakeroot; do
  if ! command -v "$program" >/dev/null; then
    echo "SKIPPED: packages: $program is not installed (packaging/dependencies/packages.txt)"
    exit 77
  fi
done
# Debug symbols take long to compress, and nothing here looks at them.
DEB_BUILD_OPTIONS=noautodbgsym "$1/packaging/build-packages.sh" "$2" "$3"
