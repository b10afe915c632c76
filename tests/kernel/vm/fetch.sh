#!/usr/bin/env bash
# Fetches packages of Debian and unpacks them below a directory: for arm64, or ARCH. Needs no root, and leaves
# apt and dpkg of this machine alone: they have an architecture, lists and a cache of their own here.
#
#   fetch.sh sysroot DIR            what packaging/dependencies/vm-sysroot.txt lists, with dependencies
#   fetch.sh kernel DIR SERIES [MAX]
#                                   the newest cloud kernel of SERIES (5.10, 6.12, 7.0), at most MAX;
#                                   prints the path of its image. Fails with 3 when there is none.
#
# What is there already is not fetched again. DIR/.. is also where apt works; its lists are of an hour ago at
# most.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
what=$1
dir=$(realpath -m "$2")
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
readonly root what dir codename
readonly arch=${ARCH:-arm64}
others=""  # releases of Debian
[[ $what != kernel || $3 =~ ^6\.(1|12)$ ]] || others="bullseye trixie trixie-backports sid"
readonly others apt=$dir/../apt-$arch${others:+-others}

say() { printf 'fetch: %s\n' "$*" >&2; }

# --- an apt of our own ----------------------------------------------------------------------------

private_apt_get() { apt-get -q=2 -c "$apt/apt.conf" "$@" >&2; }

prepare_apt() {
  [[ ! -e $apt/updated || -n $(find "$apt/updated" -mmin +60) ]] || return 0
  mkdir -p "$apt"/{lists,cache/archives}/partial
  : >"$apt/status"  # nothing is installed
  # Proxies and the like are this machine's; what is said here comes after them.
  cat >"$apt/apt.conf" <<CONF
APT::Architecture "$arch";
#clear APT::Architectures;
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
CONF
  sources >"$apt/sources.list"
  if [[ ! -s $apt/sources.list ]]; then
    say "apt of this machine has no source for Debian $codename"
    return 1
  fi
  private_apt_get update
  touch "$apt/updated"
}

# This release as this machine has it from its mirrors; and Debian 12 from there, which has Linux 6.1.
# For other kernels the releases before and after them.
sources() {
  local targets
  targets=$(index_targets)
  if [[ -z $targets ]]; then  # it was never asked to `update`
    mkdir -p "$apt/machine-lists/partial"
    apt-get -q=2 -o "Dir::State::lists=$apt/machine-lists" update >&2
    targets=$(index_targets -o "Dir::State::lists=$apt/machine-lists")
  fi
  awk -v codename="$codename" '
    BEGIN { deb = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" }
    $2 ~ "^" codename && $3 == "main" && $4 == "Debian" { print deb, $1, $2, $3 }
    $2 == codename && codename != "bookworm" { print deb, $1, "bookworm", $3 }
    $2 == codename { split(others, suite, " "); for (i in suite) print deb, $1, suite[i], $3 }' \
    others="$others" <<<"$targets" | sort -u
}

index_targets() {  # APT_OPTIONS...
  apt-get "$@" indextargets --format "\$(REPO_URI) \$(RELEASE) \$(COMPONENT) \$(ORIGIN)" \
    'Created-By: Packages'
}

# --- what is fetched ------------------------------------------------------------------------------

list_of_sysroot() { "$root/packaging/dependencies/names.sh" vm-sysroot; }

fetch_sysroot() {
  local -r stamp=$dir/.holds
  if [[ -e $stamp ]] && list_of_sysroot | cmp -s - "$stamp"; then
    return
  fi
  say "Debian for arm64: libraries and headers (about 400 MB unpacked)"
  prepare_apt
  rm -rf "$dir" "$apt"/cache/archives/*.deb
  mkdir -p "$dir"
  list_of_sysroot | xargs apt-get -q=2 -c "$apt/apt.conf" --download-only -y install >&2
  local deb
  for deb in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$dir"; done
  rm -f "$apt"/cache/archives/*.deb
  local merged
  for merged in bin lib; do  # packages have nothing there since Debian 13
    [[ -e $dir/$merged ]] || ln -s "usr/$merged" "$dir/$merged"
  done
  make_links_relative
  list_of_sysroot >"$stamp"
}

# -dev packages hold absolute links (libz.so -> /lib/...), which would lead out of the sysroot.
make_links_relative() {
  local link target
  find "$dir"/{usr/,}lib -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    target=$(readlink "$link")
    [[ ! -e $dir$target ]] || ln -sfr "$dir$target" "$link"
  done
}

fetch_kernel() {  # SERIES [MAX]
  local -r series=$1 max=${2:-}
  if ! compgen -G "$dir/boot/vmlinuz-*" >/dev/null; then
    prepare_apt
    rm -rf "$dir"
    mkdir -p "$dir/boot"
    local package
    for package in $(kernels "$series" "$max"); do  # lists name some that mirrors no longer have
      rm -f "$apt"/cache/*.deb
      (cd "$apt/cache" && private_apt_get download "$package") || continue
      say "$package"
      unpack_image "$series" "$apt"/cache/*.deb
      rm -f "$apt"/cache/*.deb
      break
    done
  fi
  if ! compgen -G "$dir/boot/vmlinuz-*" >/dev/null; then
    say "this mirror has no kernel $series${max:+ up to $max}"
    return 3
  fi
  echo "$dir"/boot/vmlinuz-*
}

# Newest first. Until 6.12 there is an unsigned image, which differs from the signed one by nothing but
# the signature; since 6.19 the image is in linux-binary.
kernels() {  # SERIES MAX
  local form="linux-image-(${1//./\\.}\.[0-9.-]+)(\+deb1[0-9])?-cloud-$arch(-unsigned)?"
  [[ ! $1 =~ ^(6\.19|[7-9]\.) ]] || form=${form/image/binary}
  apt-cache -c "$apt/apt.conf" pkgnames linux- | sed -nE "s/^($form)\$/\2 \1/p" | sort -Vr |
    awk -v max="${2:-}" '{ split($1, is, /[.-]/); split(max, at_most, ".") }
      max == "" || is[3] + 0 <= at_most[3] + 0 { print $2 }'
}

# It is in /boot, or next to its modules.
unpack_image() {  # SERIES PACKAGE
  local image
  dpkg-deb --fsys-tarfile "$2" | tar -x -C "$dir" --wildcards '*/vmlinuz*'
  image=$(find "$dir" -name 'vmlinuz*' -type f | head -1)
  [[ $image == "$dir"/boot/* ]] || mv "$image" "$dir/boot/vmlinuz-$(basename "$(dirname "$image")")"
}

case $what in
  sysroot) fetch_sysroot ;;
  kernel) fetch_kernel "${@:3}" ;;
  *) exit 2 ;;
esac
