#!/usr/bin/env python3
"""Checks that what the documents link to is there: files, and headings in them. They are installed, so
they may link to installed documents and their images only.

    links_test.py SOURCE_DIR
"""

import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from documents import is_installed, pages  # noqa: E402

BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors_of(page: Path) -> set[str]:
    """As GitHub and others make them of headings."""
    headings = HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_there(root: Path, page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists() or not is_installed(root, target):
        return False
    return not anchor or anchor in anchors_of(target)


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    links = [
        (page, link)
        for page in pages(root)
        for link in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
        if "://" not in link
    ]
    dead = [(page, link) for page, link in links if not is_there(root, page, link)]
    for page, link in dead:
        print(f"{page.relative_to(root)}: there is no document {link}")
    if len(links) < 50:
        print(f"found only {len(links)} links")
        return 1
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
