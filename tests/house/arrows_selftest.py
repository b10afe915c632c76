#!/usr/bin/env python3
"""Shows that arrows_test.py can fail: each violation, put in a small tree, is found where it is."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import arrows_test  # noqa: E402

CLEAN_CMAKE = "".join(
    f"add_room({room}{' NEEDS ' + ' '.join(sorted(needs)) if needs else ''})\n"
    for room, needs in arrows_test.ROOMS.items()
)
LINE_OF = {room: line for line, room in enumerate(arrows_test.ROOMS, start=1)}


class ArrowsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.put("lib/CMakeLists.txt", CLEAN_CMAKE)
        self.put("daemon/main.cc", "int main() {}\n")

    def put(self, path: str, text: str = ""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def found(self) -> list[str]:
        return [str(violation) for violation in arrows_test.violations(self.root)]

    def assert_clean(self):
        self.assertEqual(self.found(), [])

    def assert_found(self, *where_and_why: str):
        found = self.found()
        self.assertEqual(len(found), len(where_and_why), found)
        for violation, expected in zip(found, where_and_why):
            self.assertIn(expected, violation)


class Includes(ArrowsTest):
    def test_along_the_arrows_are_clean(self):
        self.put("lib/collect/poll.cc", '#include "perf/group.h"\n#include "estimate/scale.h"\n')
        self.put("lib/perf/group.h", '#include <vector>\n#include "perf/event.h"\n#include "base/fd.h"\n')
        self.put("daemon/main.cc", '#include "http/server.h"\n#include "daemon/log/log.h"\n#include "log.h"\n')
        self.assert_clean()

    def test_against_an_arrow_are_found(self):
        self.put("lib/base/fd.h", '#pragma once\n\n#include "perf/group.h"\n')
        self.assert_found("lib/base/fd.h:3: base may not include perf")

    def test_sideways_are_found(self):
        self.put("lib/http/server.cc", '#include "config/config.h"\n')
        self.put("lib/perf/group.cc", '# include "cgroup/cgroup.h"\n')
        self.assert_found("lib/http/server.cc:1: http may not", "lib/perf/group.cc:1: perf may not")

    def test_of_the_daemon_are_found(self):
        self.put("lib/collect/poll.cc", '#include "daemon/log/log.h"\n')
        self.assert_found("lib/collect/poll.cc:1: collect may not include daemon")

    def test_in_angle_brackets_do_not_escape(self):
        self.put("lib/base/fd.h", "#include <perf/group.h>\n")
        self.assert_found("lib/base/fd.h:1: base may not include perf")

    def test_without_a_room_are_found(self):
        self.put("lib/base/fd.cc", '#include "fd.h"\n#include "../perf/group.h"\n')
        self.assert_found("lib/base/fd.cc:1: write the room", "lib/base/fd.cc:2: write the room")

    def test_in_comments_do_not_count(self):
        self.put("lib/base/fd.h", '// #include "perf/group.h"\n/*\n#include "perf/group.h"\n*/\n')
        self.assert_clean()


class Wings(ArrowsTest):
    def test_along_the_arrows_are_clean(self):
        self.put("daemon/web/routes.cc", '#include "daemon/status/status.h"\n#include "daemon/web/cache.h"\n')
        self.put("daemon/main.cc", '#include "daemon/commands/serve.h"\n')
        self.assert_clean()

    def test_against_an_arrow_are_found(self):
        self.put("daemon/web/routes.cc", '\n#include "daemon/run/app.h"\n')
        self.assert_found("daemon/web/routes.cc:2: daemon/web may not include daemon/run/app.h")

    def test_not_in_the_table_are_found(self):
        self.put("daemon/attic/box.h")
        self.assert_found("daemon/attic:1: a wing that WINGS")

    def test_do_without_sources_next_to_main(self):
        self.put("daemon/app.cc")
        self.assert_found("daemon/app.cc:1: belongs in a wing")


class Sizes(ArrowsTest):
    def test_over_the_limit_are_found(self):
        for i in range(arrows_test.MAX_SOURCES + 1):
            self.put(f"lib/perf/source{i}.cc")
        self.assert_found(f"lib/perf:1: {arrows_test.MAX_SOURCES + 1} source files")


class Cmake(ArrowsTest):
    def put_cmake(self, old: str, new: str):
        self.assertIn(old, CLEAN_CMAKE)
        self.put("lib/CMakeLists.txt", CLEAN_CMAKE.replace(old, new))

    def test_with_libraries_and_comments_is_clean(self):
        self.put_cmake("add_room(http NEEDS access base)",
                       "# add_room(http NEEDS perf)\nadd_room(\n  http LIBRARIES Boost::headers NEEDS base access)")
        self.assert_clean()

    def test_with_one_need_too_many_is_found(self):
        self.put_cmake("add_room(http NEEDS access base)", "add_room(http NEEDS access base perf)")
        self.assert_found(f"lib/CMakeLists.txt:{LINE_OF['http']}: http NEEDS differ")

    def test_with_one_need_too_few_is_found(self):
        self.put_cmake("add_room(perf NEEDS base host)", "add_room(perf NEEDS base)")
        self.assert_found(f"lib/CMakeLists.txt:{LINE_OF['perf']}: perf NEEDS differ")

    def test_without_a_room_is_found(self):
        self.put_cmake("add_room(config NEEDS base yaml)\n", "")
        self.assert_found("no add_room(config")

    def test_with_an_unknown_room_is_found(self):
        self.put("lib/CMakeLists.txt", CLEAN_CMAKE + "add_room(attic)\n")
        self.assert_found(f"lib/CMakeLists.txt:{len(LINE_OF) + 1}: attic NEEDS differ")


class Rooms(ArrowsTest):
    def test_not_in_the_table_are_found(self):
        self.put("lib/attic/box.h")
        self.assert_found("lib/attic:1: a room that ROOMS")


class OutsideLibraries(ArrowsTest):
    def test_in_their_rooms_are_clean(self):
        self.put("lib/yaml/tree.cc", "#include <yaml-cpp/yaml.h>\n")
        self.put("lib/exposition/families.cc", "#include <prometheus/collectable.h>\n")
        self.put("lib/http/server.cc", "#include <boost/beast.hpp>\n")
        self.put("lib/perf/event.cc", "#include <linux/perf_event.h>\n")
        self.put("daemon/main.cc", "#include <boost/asio.hpp>\n#include <systemd/sd-daemon.h>\n"
                                   "#include <spdlog/spdlog.h>\n#include <CLI/CLI.hpp>\n")
        self.assert_clean()

    def test_elsewhere_are_found(self):
        for header in ("yaml-cpp/yaml.h", "prometheus/counter.h", "boost/asio.hpp", "systemd/sd-daemon.h",
                       "spdlog/spdlog.h", "CLI/CLI.hpp", "linux/perf_event.h"):
            with self.subTest(header):
                self.put("lib/collect/poll.cc", f"\n#include <{header}>\n")
                self.assert_found(f"lib/collect/poll.cc:2: {header} belongs in")

    def test_tls_where_only_plain_asio_may_be_is_found(self):
        self.put("lib/http/server.cc", "#include <boost/asio/ip/tcp.hpp>\n#include <boost/asio/ssl.hpp>\n")
        self.assert_found("lib/http/server.cc:2: boost/asio/ssl.hpp belongs in access, not in http")

    def test_not_even_in_the_daemon(self):
        self.put("daemon/main.cc", "#include <yaml-cpp/yaml.h>\n#include <linux/perf_event.h>\n")
        self.assert_found("daemon/main.cc:1: yaml-cpp", "daemon/main.cc:2: linux/perf_event.h")


class KernelPaths(ArrowsTest):
    def test_in_host_are_clean(self):
        self.put("lib/host/roots.h", 'const char* kProc = "/proc";\n')
        self.assert_clean()

    def test_elsewhere_are_found(self):
        for literal in ('"/proc/self/stat"', '"/sys"', '"see /sys/fs/cgroup"', 'R"(a /proc/b)"', '"\\"/proc"',
                        'u8"/sys/"'):
            with self.subTest(literal):
                self.put("lib/perf/event.cc", f"\n\nauto path = {literal};\n")
                self.assert_found("lib/perf/event.cc:3: only lib/host spells")

    def test_in_the_daemon_are_found(self):
        self.put("daemon/main.cc", 'auto help = "where sysfs is; usually /sys";\n')
        self.assert_found("daemon/main.cc:1: only lib/host spells")

    def test_after_a_digit_separator_or_a_quote_character_are_found(self):
        self.put("lib/perf/event.cc", "int n = 1'000'000; char q = '\"';\nauto path = \"/proc\";\n")
        self.assert_found("lib/perf/event.cc:2: only lib/host spells")

    def test_that_only_look_alike_are_clean(self):
        self.put("lib/cgroup/paths.cc",
                 'auto a = "/system.slice/*.service"; auto b = "--path.sysfs"; auto c = "/processes";\n')
        self.assert_clean()

    def test_in_comments_do_not_count(self):
        self.put("lib/perf/event.cc", '// "/proc"\n/* "/sys"\n */ int n;  // see "/sys/devices"\n'
                                      'auto url = "http://x";  // /proc\n')
        self.assert_clean()


class KernelDoor(ArrowsTest):
    WORDS = "auto a = syscall(SYS_perf_event_open);\nauto b = ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);\n"

    def test_in_its_file_is_clean(self):
        self.put("lib/perf/linux_perf_kernel.cc", self.WORDS)
        self.assert_clean()

    def test_elsewhere_is_found(self):
        self.put("lib/perf/group.cc", self.WORDS)
        self.assert_found("group.cc:1: SYS_perf_event_open", "group.cc:2: PERF_EVENT_IOC_ENABLE")

    def test_in_comments_and_messages_does_not_count(self):
        self.put("lib/perf/group.cc", '// SYS_perf_event_open\nauto m = "PERF_EVENT_IOC_ENABLE failed";\n')
        self.assert_clean()


class Names(ArrowsTest):
    def test_without_a_subject_are_found_anywhere(self):
        self.put("lib/base/util.h")
        self.put("tests/helpers/tree.h")
        self.put("cmake/Common.cmake")
        self.assert_found("cmake/Common.cmake:1", "lib/base/util.h:1", "tests/helpers:1")

    def test_with_a_subject_and_build_output_are_clean(self):
        self.put("lib/base/common_prefix.h")
        self.put("build/release/util.h")
        self.put(".git/util/x")
        self.assert_clean()


class Program(ArrowsTest):
    def run_main(self, *arguments: str) -> tuple[int, str]:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            return arrows_test.main(list(arguments)), out.getvalue()

    def test_ends_with_0_when_all_is_well(self):
        self.assertEqual(self.run_main(str(self.root)), (0, "0 violations\n"))

    def test_ends_with_1_and_names_the_place(self):
        self.put("lib/base/fd.h", '#include "perf/group.h"\n')
        status, printed = self.run_main(str(self.root))
        self.assertEqual(status, 1)
        self.assertIn("lib/base/fd.h:1: base may not include perf (perf/group.h)\n", printed)

    def test_ends_with_2_when_there_is_no_tree(self):
        self.assertEqual(self.run_main(str(self.root / "nowhere"))[0], 2)


if __name__ == "__main__":
    unittest.main()
