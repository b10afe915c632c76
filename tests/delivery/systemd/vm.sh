#!/usr/bin/env bash
# The service under systemd in an emulated machine that has a PMU, with the daemon that tests/kernel/vm
# cross-builds.
#
#   vm.sh [PART_OF_A_TEST'S_NAME...]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
readonly here root
readonly work=$root/build/vm

if ((EUID != 0)); then
  echo "SKIPPED: systemd.vm: needs root"
  exit 77
fi
mkdir -p "$work"
exec 9>"$work/.lock"
flock 9  # tests/kernel/vm works there as well
"$root/tests/kernel/vm/prepare.sh" systemd.vm
export PYTHONPYCACHEPREFIX=$root/build/pycache
python3 "$here/vm_test.py" "$work" "$@"
