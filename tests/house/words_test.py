#!/usr/bin/env python3
"""Checks that the source tree uses the field's terms, not private ones (ARCHITECTURE.md, "Words"), and
that the documents are written in plain English.

    words_test.py SOURCE_DIR [--rates]

Prints each violation as file:line: reason, and exits 1 when there is one. --rates prints how often
each document uses each construction of CONSTRUCTIONS, and nothing else.
"""

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

sys.dont_write_bytecode = True
from documents import all_documents  # noqa: E402

# A private word as a regular expression without regard to case, and the field's term.
WORDS = {
    r"(take|takes|taking|took) turns|in turn": "multiplexed, rotated, round-robin",
    r"witness(es)?": "auxiliary counter",
    r"patience": "timeout",
    r"lookout": "watcher",
    r"troubles?|befalls?": "error, happens",
    r"grain|lessons?": "prior, statistics",
    r"drafts?": "what it truly is",
    r"mistakes?|remarks?": "error, warning",
    r"tells?|told": "report, show, return",
    r"anew": "again, restarted",
    r"beside|in vain|unnoticed": "next to; without result; undetected",
    r"strangers|whoever": "other programs, clients; any client that",
    r"(gets?|got) on": "makes progress",
    r"(gives?|gave) way": "is displaced",
    r"books|booked": "accounts, accounted",
    r"k(Most|Longest|Least)[A-Z]?\w*": "kMax, kMin",
}
FOLDERS = ("lib", "daemon", "config", "docs", "packaging")
SOURCES = {".h", ".cc", ".in", ".js", ".css", ".html", ".txt", ".md", ".yaml", ".yml", ".scd",
           ".libsonnet", ".sh"}


class Construction(NamedTuple):
    """How often it may be used per 10 000 words of all documents: twice as often as the documents of
    node_exporter, blackbox_exporter, ebpf_exporter, rezolus and pcm use it."""

    name: str
    pattern: str  # P3: within one sentence
    anchors: float  # per 10 000 words of theirs
    advice: str

    @property
    def limit(self) -> float:
        return 2 * self.anchors


# Prose of Markdown: tables too, but neither code, nor links' targets, nor generated parts.
CONSTRUCTIONS = (
    Construction("P3", r"\b(?:that|which|whose|who)\b.*?\b(?:that|which|whose|who)\b", 3.5,
                 "one relative clause in a sentence"),
    Construction("P4", r"\b(?:those|that)\s+of\b|\bthe\s+ones?\s+that\b", 0, "repeat the noun"),
    Construction("P5", r"\b(?:of|by|in|for)\s+which\b", 0.5, "write a new sentence"),
    Construction("P7", r"\bwhere\b", 3.1, "write if or when, unless it is a place"),
    Construction("P8 take, give", r"\b(?:takes?|gives?)\b", 7.4, "needs, uses, costs, prints, returns"),
    Construction("P8 end, begin, lack", r"\b(?:ends|begins?|lacks?)\b", 1.0,
                 "exits, stops, starts, is missing"),
    Construction("P13", r"\b(?:so|as)\s+(?:many|long|often)\b|\bmeanwhile\b|\bof\s+(?:then|before)\b"
                 r"|\b(?:in|out)side\s+of\b|\belse\b|\bin\s+place\s+of\b", 0.5,
                 "if, while, then, in, instead of"),
)
NOT_PROSE = re.compile(r"^ *```.*?^ *```[^\n]*$|<!--\s*begin.*?<!--\s*end.*?-->|`[^`\n]*`|(?<=\])\([^)\s]*\)"
                       r"|https?://[^\s)>]+|<[^>\n]+>", re.MULTILINE | re.DOTALL)
END_OF_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z(`*\[])|\n\s*\n|\n\s*(?:[-*+]|\d+\.)\s|\n(?=#)|\|")


class Finding(NamedTuple):
    page: Path
    line: int
    text: str


def prose_of(text: str) -> str:
    """`text` with all else blanked out, at the same places."""
    return NOT_PROSE.sub(lambda found: re.sub(r"[^\n`]", " " if "\n" in found[0] else "_", found[0]), text)


def sentences(prose: str) -> Iterator[tuple[int, str]]:
    """The place of each, and its text."""
    begin = 0
    for end in END_OF_SENTENCE.finditer(prose):
        yield begin, prose[begin:end.start()]
        begin = end.end()
    yield begin, prose[begin:]


def findings(page: Path, text: str, construction: Construction) -> Iterator[Finding]:
    pattern = re.compile(construction.pattern, re.IGNORECASE | re.DOTALL)
    prose = prose_of(text)
    for begin, sentence in sentences(prose):
        found = pattern.finditer(sentence)
        if construction.name == "P3":
            found = filter(None, [pattern.search(sentence)])
        for match in found:
            line = prose.count("\n", 0, begin + match.start()) + 1
            yield Finding(page, line, " ".join(match[0].split()))


def rate(number: int, words: int) -> float:
    return number * 10_000 / max(words, 1)


def violations_of_constructions(root: Path) -> Iterator[str]:
    texts = {page: page.read_text(encoding="utf-8") for page in all_documents(root)}
    words = sum(len(text.split()) for text in texts.values())
    for each in CONSTRUCTIONS:
        found = [finding for page, text in texts.items() for finding in findings(page, text, each)]
        if rate(len(found), words) <= each.limit:
            continue
        yield (f"{each.name} ({each.advice}): {rate(len(found), words):.1f} per 10 000 words, more than "
               f"{each.limit:.1f}:")
        for page, line, text in found:
            yield f"{page.relative_to(root)}:{line}: '{text}'"


def rates(root: Path) -> Iterator[str]:
    """A table of numbers for each document, and the rates of all."""
    yield " ".join(each.name for each in CONSTRUCTIONS)
    totals, words = [0] * len(CONSTRUCTIONS), 0
    for page in all_documents(root):
        text = page.read_text(encoding="utf-8")
        numbers = [len(list(findings(page, text, each))) for each in CONSTRUCTIONS]
        totals = [total + number for total, number in zip(totals, numbers)]
        words += len(text.split())
        yield f"{' '.join(f'{number:5}' for number in numbers)}  {page.relative_to(root)}"
    yield f"{' '.join(f'{rate(total, words):5.1f}' for total in totals)}  per 10 000 of {words} words"
    yield f"{' '.join(f'{each.limit:5.1f}' for each in CONSTRUCTIONS)}  limits"


def violations(root: Path) -> Iterator[str]:
    def pattern(word: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![a-z])({word})(?![a-z])", re.IGNORECASE)

    terms = [(pattern(word), term) for word, term in WORDS.items()]
    any_term = pattern("|".join(WORDS))
    paths = {path for folder in FOLDERS for path in (root / folder).rglob("*")}
    paths |= set(all_documents(root))
    for path in sorted(path for path in paths if path.suffix in SOURCES):
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines() if any_term.search(text) else [], start=1):
            for private, term in terms:
                for found in private.finditer(line):
                    yield f"{path.relative_to(root)}:{number}: '{found[0]}': write {term}"


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--rates"]):
        print("usage: words_test.py SOURCE_DIR [--rates]", file=sys.stderr)
        return 2
    root = Path(arguments[0]).resolve()
    if len(arguments) == 2:
        print("\n".join(rates(root)))
        return 0
    found = [*violations(root), *violations_of_constructions(root)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
