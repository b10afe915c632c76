#!/usr/bin/env python3
"""Checks that the manual pages can be made, and that the one of section 5 has every key.

    manual_test.py SOURCE_DIR
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

# A key in a table of docs/configuration.md, which is made from the same table in the code.
KEY = re.compile(r"^\| `([a-z_]+)` \|", re.MULTILINE)


def page_of(source: Path) -> str:
    done = subprocess.run(
        ["scdoc"], input=source.read_text(encoding="utf-8"), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{source}: {done.stderr.strip()}")
    return done.stdout


def main() -> int:
    if shutil.which("scdoc") is None:
        print("SKIPPED: manual pages: there is no scdoc, a package of Debian")
        return 77
    root = Path(sys.argv[1])
    pages = {source.name: page_of(source) for source in (root / "packaging/man").glob("*.scd")}
    keys = set(KEY.findall((root / "docs/configuration.md").read_text(encoding="utf-8")))
    lines = pages["perf_event_exporter.yaml.5.scd"].replace("\\fB", "").replace("\\fR", "").splitlines()
    missing = {key for key in keys if not any(line.startswith(f"{key}:") for line in lines)}
    for key in sorted(missing):
        print(f"perf_event_exporter.yaml(5) has no key '{key}'")
    if len(keys) < 30 or len(pages) < 2:
        print(f"found only {len(keys)} keys and {len(pages)} pages")
        return 1
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
