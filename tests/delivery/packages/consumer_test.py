"""The installed example is built against the installed library, and counts with it."""

import os
import pathlib
import re
import tempfile
import unittest

import packages
from packages import run

# Outside libraries that rooms link: those with a CMake package, and those that pkg-config knows.
PACKAGES = ("Boost", "OpenSSL", "prometheus-cpp", "yaml-cpp", "fmt")
MODULES = ("elf", "re2", "crypt", "deflate")
CLOCK = re.compile(r'^perf_cpu_task_clock_seconds_total\{cpu="\d+"\} (\S+)$', re.MULTILINE)


class ConsumerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="pex-consumer-")))
        cls.prefix = cls.dir / "prefix"
        run("cmake", "--install", packages.arguments[0], "--prefix", cls.prefix, "--component",
            "development")
        cls.example = cls.prefix / "share/doc/libperf-event-exporter-dev/example"

    def assert_counts(self, program):
        if os.geteuid() != 0:
            self.skipTest("it was built; counting CPUs needs root or CAP_PERFMON")
        clocks = CLOCK.findall(run(program))
        self.assertTrue(clocks)
        self.assertTrue(all(float(seconds) > 0 for seconds in clocks), clocks)

    def configure(self, build, *options, source=None):
        return run("cmake", "-S", source or self.example, "-B", build, "-G", "Ninja",
                   f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
                   *options)

    def test_a_project_finds_the_package_and_its_program_counts(self):
        build = self.dir / "found"

        self.configure(build)
        run("cmake", "--build", build)

        self.assert_counts(build / "consumer")

    @packages.needs("pkg-config", "g++")
    def test_what_pkg_config_prints_is_enough_to_compile_and_link(self):
        (directory,) = {path.parent for path in self.prefix.rglob("perf_event_exporter.pc")}
        flags = run("pkg-config", "--cflags", "--libs", "perf_event_exporter",
                    env={**os.environ, "PKG_CONFIG_PATH": str(directory)}).split()
        program = self.dir / "by_pkg_config"

        run("g++", "-std=c++20", "-o", program, self.example / "main.cc", *flags)

        self.assert_counts(program)

    def find(self, *words):
        """Configures a project that asks for the package in this way."""
        source = self.dir / "asks"
        source.mkdir(exist_ok=True)
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(asks LANGUAGES CXX)\n"
            f"find_package(perf_event_exporter {' '.join(words)})\n"
            'message(STATUS "FOUND ${perf_event_exporter_FOUND}")\n'
            f"foreach(package {' '.join(PACKAGES)})\n"
            '  if(${package}_FOUND)\n    message(STATUS "ALSO ${package}")\n  endif()\nendforeach()\n'
            f"foreach(module {' '.join(MODULES)})\n"
            "  if(TARGET PkgConfig::${module})\n"
            '    message(STATUS "ALSO ${module}")\n  endif()\nendforeach()\n', encoding="utf-8")
        return self.configure(self.dir / "asked", "--fresh", source=source)

    def assert_found(self, said, *libraries):
        self.assertIn("FOUND 1", said)
        self.assertEqual(sorted(re.findall(r"ALSO (\S+)", said)), sorted(libraries))

    def test_without_components_all_rooms_are_there(self):
        said = self.find("REQUIRED")

        self.assert_found(said, *PACKAGES, *MODULES)

    def test_a_room_asks_for_no_library_that_it_does_not_need(self):
        said = self.find("REQUIRED", "COMPONENTS", "events")

        self.assert_found(said, "elf")

    def test_another_minor_version_is_refused(self):
        self.assertIn("FOUND 0", self.find("0.2", "QUIET"))

    def test_a_room_that_does_not_exist_is_refused(self):
        self.assertIn("FOUND 0", self.find("QUIET", "COMPONENTS", "attic"))


if __name__ == "__main__":
    packages.main("BUILD_DIR")
