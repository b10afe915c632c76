"""Each header of the installed library can be used, and none is installed that nobody needs."""

import concurrent.futures
import os
import pathlib
import re
import tempfile
import unittest

import packages
from packages import run

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
LIST = "public_headers of lib/CMakeLists.txt"
# What a program includes that plans, counts and serves with the library.
INCLUDED_BY_PROGRAMS = """
    config/load.h plan/load_plan.h perf/linux_perf_kernel.h count/counter_sources.h
    count/collector.h exposition/collectable.h http/server.h
    abi/sampling.h abi/sampling_table.h perf/ring_buffer.h abi/aux_area.h abi/record/record.h
    abi/record/callchain.h abi/control_page.h abi/counter_control.h abi/open_flags.h
    perf/task/command.h perf/task/task_counters.h abi/sysctls.h plan/task_plan.h
    async/async_ring.h
""".split()


class HeadersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        prefix = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="pex-headers-"))
        run("cmake", "--install", packages.arguments[0], "--prefix", prefix, "--component",
            "development")
        cls.top = pathlib.Path(prefix, "include/perf_event_exporter")
        cls.headers = sorted(str(path.relative_to(cls.top)) for path in cls.top.rglob("*.h"))

    def included_by(self, header):
        return INCLUDE.findall((self.top / header).read_text(encoding="utf-8"))

    def test_a_header_is_installed_for_programs_or_for_another_header(self):
        reached, next_ones = set(), set(INCLUDED_BY_PROGRAMS)
        while next_ones:
            reached |= next_ones
            included = {each for header in next_ones for each in self.included_by(header)}
            next_ones = included.intersection(self.headers) - reached

        self.assertEqual(set(self.headers), reached, f"remove what nobody includes from {LIST}")

    def compile_alone(self, header):
        run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", self.top,
            "-x", "c++", "-", input=f'#include "{header}"\n')

    @packages.needs("c++")
    def test_each_header_compiles_alone(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            compiled = {header: pool.submit(self.compile_alone, header) for header in self.headers}
        for header, outcome in compiled.items():
            with self.subTest(header):
                outcome.result()


if __name__ == "__main__":
    packages.main("BUILD_DIR")
