"""Whether a program is protected against what a bug in memory could be used for."""

import re
import subprocess

PROTECTIONS = ("Position Independent Executable", "Stack protected", "Fortify Source functions",
               "Read-only relocations", "Immediate binding")
PROGRAMS = ("hardening-check", "objdump")  # of Debian's devscripts and binutils
# Stack clash protection touches each page of a large frame; hardening-check misses some forms. On x86
# and on arm64:
TOUCH_OF_A_PAGE = re.compile(r"\bor[bql]?\s+\$0x0,(0x[0-9a-f]+)?\(%rsp\)|\bstr\s+xzr, \[sp")


def lacking(program):
    """The protections that the program does not have."""
    said = output_of("hardening-check", program)  # it fails for those we do not ask for
    without = [each for each in PROTECTIONS if f"{each}: yes" not in said]
    if not TOUCH_OF_A_PAGE.search(output_of("objdump", "--disassemble", program)):
        without.append("Stack clash protection")
    return without


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
