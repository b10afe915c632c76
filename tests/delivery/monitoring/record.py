"""Records what the daemon serves on a hardware PMU: `record.py VM_DIRECTORY OUT.xz`.

Boots the emulated machine of tests/kernel/vm with the scenario guest/monitoring.sh and keeps its scrapes,
one after the other, each behind a line `# SCRAPE <seconds since the first>`. VM_DIRECTORY is what
`./dev vm-test` has filled: build/vm. Takes some minutes. The outcome is committed as emulated.xz,
for dashboards_test.py; it is to be made again when metrics or labels change.
"""

import fcntl
import lzma
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{here}/../../kernel/vm")
from machine import Boot

KERNEL = "6.1"


def pack(directory):
    """Our scenario, next to those of tests/kernel/vm, which have packed all else that it needs."""
    subprocess.run([f"{here}/../../kernel/vm/initramfs.sh", f"{directory}/sysroot",
                    f"{directory}/monitoring.cpio",
                    f"{here}/guest/monitoring.sh:guest/monitoring.sh",
                    f"{here}/guest/monitoring.yaml:guest/config/monitoring.yaml"], check=True)


def scrapes_of(record):
    names = sorted((name for kind, name in record.texts if kind == "scrape"), key=int)
    start = record.uptimes["scrape", names[0]]
    for name in names:
        yield record.uptimes["scrape", name] - start, record.texts["scrape", name]


def main():
    directory, out = os.path.abspath(sys.argv[1]), sys.argv[2]
    Boot.directory = directory
    with open(f"{directory}/.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as run.sh
        pack(directory)
        record = Boot("monitoring", KERNEL, cpus=2, archives=("base", "monitoring")).start()
    print(record.texts["stderr", "monitoring"])
    text = "".join(f"# SCRAPE {at:.2f}\n{scrape}" for at, scrape in scrapes_of(record))
    with open(out, "wb") as file:
        file.write(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{out}: {text.count('# SCRAPE')} scrapes, {len(text)} characters, "
          f"{os.path.getsize(out)} bytes")


if __name__ == "__main__":
    main()
