#!/usr/bin/env python3
"""Checks that no Markdown document, nor all of them together, is larger than its limit.

    documents_size_test.py SOURCE_DIR

A new document needs a limit here, and room below the limit of all. Prints each violation, and exits
1 when there is one.
"""

import sys
from pathlib import Path
from typing import Iterator

sys.dont_write_bytecode = True
from documents import all_documents  # noqa: E402

KB = 1000
ALL = 280  # KB
LIMITS = {  # KB
    "README.md": 6,
    "CHANGELOG.md": 3,
    "CONTRIBUTING.md": 7,
    "SECURITY.md": 6,
    "ARCHITECTURE.md": 15,
    "docs/accuracy.md": 6,
    "docs/cgroups.md": 15.5,
    "docs/comparison.md": 3,
    "docs/configuration.md": 24,
    "docs/containers.md": 15,
    "docs/cost.md": 7,
    "docs/events.md": 13,
    "docs/install.md": 10,
    "docs/library.md": 3,
    "docs/metrics.md": 24,
    "docs/monitoring.md": 18.5,
    "docs/permissions.md": 13,
    "docs/recipes.md": 11,
    "docs/serving.md": 11.5,
    "docs/troubleshooting.md": 9,
    "docs/web-configuration.md": 10,
    "docs/development/abi.md": 18,
    "docs/development/benchmarks.md": 5,
    "docs/development/decisions.md": 10.5,
    "docs/development/faults.md": 9.5,
    "docs/development/inputs.md": 9.5,
    "packaging/helm/perf-event-exporter/README.md": 3,
    "tests/unit/events/machines/README.md": 2,
}


def violations(root: Path) -> Iterator[str]:
    sizes = {str(page.relative_to(root)): page.stat().st_size for page in all_documents(root)}
    for name in sorted(LIMITS.keys() - sizes.keys()):
        yield f"{name}: has a limit and is not there"
    for name in sorted(sizes.keys() - LIMITS.keys()):
        yield f"{name}: has no limit in documents_size_test.py"
    for name in sorted(sizes.keys() & LIMITS.keys()):
        if sizes[name] > LIMITS[name] * KB:
            yield f"{name}: {sizes[name]} bytes, more than {LIMITS[name]} KB"
    if sum(sizes.values()) > ALL * KB:
        yield f"all documents: {sum(sizes.values())} bytes, more than {ALL} KB"


def main() -> int:
    found = list(violations(Path(sys.argv[1])))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
