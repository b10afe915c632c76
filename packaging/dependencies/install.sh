#!/usr/bin/env bash
# Installs the packages of lists that are missing, with sudo unless run by root:
#
#   install.sh LIST...    LIST is the name of a .txt file next to this one
#
# On other systems than Debian 12 and 13 it prints what is needed, and fails. SKIP_PACKAGES=1: use what
# this machine has.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here

say() { printf '%s\n' "dev: $*" >&2; }

die() {
  say "$@"
  exit 1
}

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo "$@"
  fi
}

is_known_debian() {
  [[ -r /etc/os-release ]] && grep -qxE 'VERSION_CODENAME="?(bookworm|trixie)"?' /etc/os-release &&
    command -v dpkg-query apt-get >/dev/null
}

installed_among() {  # PACKAGE...; dpkg-query fails when one is unknown, and still prints the others
  { dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true; } |
    sed -n 's/^installed //p' | sort -u
}

apt_install() {  # PACKAGE...
  local -r apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300)
  as_root "${apt[@]}" update >&2 || say "apt-get update failed; trying with the lists at hand"
  if [[ " $* " == *" prometheus "* ]]; then
    without_starting_prometheus as_root "${apt[@]}" install --no-install-recommends "$@" >&2
  else
    as_root "${apt[@]}" install --no-install-recommends "$@" >&2
  fi
}

# Debian starts a service when its package is installed, and again at every boot. We want promtool and
# a server the tests start themselves. A policy already on this machine is its owner's and stays.
without_starting_prometheus() {  # COMMAND...
  local -r policy=/usr/sbin/policy-rc.d
  if [[ -e $policy ]]; then
    "$@"
    return
  fi
  # shellcheck disable=SC2064  # $policy is meant to be expanded now
  trap "as_root rm -f $policy" EXIT  # also when interrupted
  # shellcheck disable=SC2016  # $1 is for the policy itself
  printf '%s\n' '#!/bin/sh' 'case "$1" in prometheus*) exit 101 ;; esac' | as_root tee $policy >/dev/null
  as_root chmod 755 $policy
  local status=0
  "$@" || status=$?
  as_root rm -f $policy
  trap - EXIT
  ((status != 0)) || ! command -v systemctl >/dev/null ||
    as_root systemctl --quiet disable prometheus.service 2>/dev/null || true
  return $status
}

[[ -z ${SKIP_PACKAGES:-} ]] || exit 0
names=$("$here/names.sh" "$@")
[[ -n $names ]] || exit 0
mapfile -t wanted <<<"$names"
is_known_debian || die "this is neither Debian 12 nor 13, where these packages are needed: ${wanted[*]}
dev: install what they are called here, then set SKIP_PACKAGES=1"
mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}") <(installed_among "${wanted[@]}"))
((${#missing[@]} > 0)) || exit 0

say "will install, with apt-get: ${missing[*]} (SKIP_PACKAGES=1 ./dev ... uses what is here)"
((EUID == 0)) || command -v sudo >/dev/null ||
  die "not root, and there is no sudo. As root: apt-get install ${missing[*]}"
if [[ " ${missing[*]} " == *" libboost1.81-dev "* && -n $(installed_among libboost1.74-dev) ]]; then
  say "libboost1.81-dev replaces libboost1.74-dev: Debian does not allow both"
fi
apt_install "${missing[@]}"
