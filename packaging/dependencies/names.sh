#!/bin/sh
# Prints the packages of lists, as this release of Debian calls them:
#
#   names.sh LIST...    LIST is the name of a .txt file next to this one
#
# A row is a package; or `BOOKWORM / TRIXIE`, where Debian 12 and 13 have different names for it; or
# `PACKAGE:COMMAND`, where the package is only needed if there is no such command. Read by ./dev, the
# Dockerfile and the tests.
set -eu

lists=$(dirname "$0")
# shellcheck source=/dev/null
codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
case $codename in
  trixie) column=2 ;;
  *) column=1 ;;
esac

for list in "$@"; do
  [ -r "$lists/$list.txt" ] || {
    echo "names.sh: no such list: $lists/$list.txt" >&2
    exit 1
  }
done
for list in "$@"; do
  sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$lists/$list.txt"
done | awk -F/ -v column="$column" '{ print (NF > 1) ? $column : $1 }' | sort -u |
  while IFS=: read -r package command; do
    [ -n "$command" ] && command -v "$command" >/dev/null || echo "$package"
  done
