"""The Markdown documents of the source tree, and which of them a package contains."""

from pathlib import Path

FOLDERS = ("docs", "packaging", "tests")


def all_documents(root: Path) -> list[Path]:
    below = (page for folder in FOLDERS for page in (root / folder).rglob("*.md"))
    return sorted([*root.glob("*.md"), *(page for page in below if "node_modules" not in page.parts)])


def pages(root: Path) -> list[Path]:
    """Those of the root and of docs/."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def is_installed(root: Path, target: Path) -> bool:
    """With the program, as in cmake/install.cmake."""
    kinds = {root: {".md"}, root / "docs/development": {".md"}, root / "docs": {".md", ".svg", ".png"}}
    return target.suffix in kinds.get(target.parent, set())
