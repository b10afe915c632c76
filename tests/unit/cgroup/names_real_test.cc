// Names of cgroups of the real kernel. The records that it writes are in
// tests/unit/perf/cgroup_records_test.cc.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "cgroup/discovery/discovery.h"
#include "real_cgroups.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"

namespace pex::cgroup {
namespace {

using namespace std::chrono_literals;
using Reports = std::vector<NamedCgroup>;

/// The id by which the kernel itself finds a cgroup: that of a handle (name_to_handle_at(2)), which
/// is kernfs_node::id and so cgroup_id(). Nothing if it makes none here.
std::optional<std::uint64_t> id_of_handle(const std::string& directory) {
  constexpr int kKernfs = 0xfe;  // FILEID_KERNFS
  union {
    file_handle handle;
    char bytes[sizeof(file_handle) + sizeof(std::uint64_t)];
  } space{};
  space.handle.handle_bytes = sizeof(std::uint64_t);
  int mount = 0;
  if (::name_to_handle_at(AT_FDCWD, directory.c_str(), &space.handle, &mount, 0) != 0) return {};
  if (space.handle.handle_type != kKernfs) return {};
  std::uint64_t id = 0;
  std::memcpy(&id, space.bytes + sizeof(file_handle), sizeof id);
  return id;
}

class RealNamesTest : public RealCgroupsTest {
 protected:
  static std::shared_ptr<const CgroupNames> update(Discovery& discovery,
                                                   const Reports& reported = {},
                                                   Discovery::Clock::time_point now = kStart) {
    EXPECT_TRUE(discovery.update(0, now, reported));
    return discovery.names();
  }
  bool is_whole_hierarchy() const { return inode_at(hierarchy_.mount) == 1; }
};

TEST_F(RealNamesTest, AreByTheIdsOfTheKernel) {
  for (const char* below : {"/a", "/a/b", "/c"}) make(below);
  if (!id_of_handle(directory("/a"))) GTEST_SKIP() << "no handles of cgroups here: NOT tested";

  Discovery discovery{hierarchy_, Selection{}};
  const auto names = update(discovery);

  for (const char* below : {"", "/a", "/a/b", "/c"}) {
    const std::string* const name = names->path_of(id_of_handle(directory(below)).value());
    ASSERT_NE(name, nullptr) << below;
    EXPECT_EQ(*name, path(below));
  }
}

TEST_F(RealNamesTest, HaveNothingAboveTheRootOfAHierarchy) {
  if (!is_whole_hierarchy()) GTEST_SKIP() << "only a part of the hierarchy is mounted here";
  Discovery discovery{hierarchy_, Selection{}};

  const auto names = update(discovery, {{99'999'999'999, "/gone/x"}});

  ASSERT_NE(names->path_of(99'999'999'999), nullptr);
  EXPECT_EQ(*names->path_of(99'999'999'999), "/gone/x");
  ASSERT_NE(names->path_of(1), nullptr);
  EXPECT_EQ(*names->path_of(1), "/");
}

TEST_F(RealNamesTest, BeginAtTheMountOfACgroupNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a cgroup namespace";
  if (hierarchy_.version != Hierarchy::Version::kV2) GTEST_SKIP() << "mounts version 2";
  make("/pod");
  const NamedCgroup pod{make("/pod/a"), path("/pod/a")};
  const NamedCgroup gone{make("/pod/gone"), path("/pod/gone")};
  const NamedCgroup outside{make("/outside"), path("/outside")};
  remove("/pod/gone");
  const test::TempTree point;

  in_child("/pod", [&] {
    if (::unshare(CLONE_NEWCGROUP | CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", point.root().c_str(), "cgroup2", 0, nullptr) != 0) {
      return false;
    }
    Discovery discovery{{point.root()}, Selection{}};
    const auto before = update(discovery, {gone});
    const auto names = update(discovery, {pod, outside});
    return before->path_of(gone.id) == nullptr && *names->path_of(gone.id) == "/gone" &&
           *names->path_of(pod.id) == "/a" && names->path_of(outside.id) == nullptr &&
           *names->path_of(inode_at(point.root())) == "/";
  });
}

TEST_F(RealNamesTest, AreNotThoseOfAFileSystemThatIsMountedInTheTree) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount";
  make("/pod");
  make("/pod/a");

  in_child("/pod", [&] {
    const std::string point = directory("/pod/a");
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", point.c_str(), "tmpfs", 0, nullptr) != 0 ||
        ::mkdir((point + "/b").c_str(), 0755) != 0) {
      return false;
    }
    Discovery discovery{hierarchy_, Selection{}};
    const auto names = update(discovery);
    bool is_there = false;
    names->for_each([&](std::uint64_t, const std::string& name) {
      is_there = is_there || name == path("/pod/a/b");
    });
    return !is_there && discovery.last()->unreadable.empty();
  });
}

TEST_F(RealNamesTest, OfAThousandThatComeAndGoAreThereAndEnd) {
  Discovery discovery{hierarchy_, Selection{}};
  auto now = kStart;
  update(discovery, {{id(""), top_}});
  std::map<std::uint64_t, std::string> all;

  for (int poll = 0; poll < 100; ++poll) {
    Reports reported;
    for (int i = 0; i < 10; ++i) {
      const std::string below = "/x" + std::to_string(i % 3);  // paths are used again, ids are not
      reported.push_back({make(below), path(below)});
      remove(below);
      all.emplace(reported.back().id, path(below));
    }
    const auto names = update(discovery, reported, now += 100ms);
    for (const auto& [id, path] : all) ASSERT_EQ(*names->path_of(id), path);
  }
  EXPECT_EQ(all.size(), 1000U);

  for (int minute = 0; minute < 3; ++minute) update(discovery, {}, now += 60s);
  for (const auto& [id, path] : all) EXPECT_EQ(discovery.names()->path_of(id), nullptr);
}

TEST_F(RealNamesTest, GiveDiscoveryAThousandThatComeAndGoOnceEach) {
  Selection selected;
  selected.include.push_back(*Pattern::parse(top_ + "/*"));
  Discovery discovery{hierarchy_, selected};
  ASSERT_TRUE(discovery.update(2000, kStart, Reports{{id(""), top_}}));
  std::map<std::uint64_t, int> found;
  std::uint64_t missed = 0;

  Reports recorded;  // rings are read after the cgroups are discovered
  for (int poll = 0; poll < 105; ++poll) {
    Reports made;
    for (int i = 0; i < 10 && poll < 100; ++i) {
      const std::string below = "/x" + std::to_string(10 * poll + i);
      made.push_back({make(below), path(below)});
      if (i % 5 != 0) remove(below);
    }
    const auto result = discovery.update(2000, kStart + 100ms * poll, recorded);
    ASSERT_TRUE(result);
    missed += discovery.take_missed();
    for (const auto& cgroup : (*result)->cgroups) {
      if (!cgroup->directory) found[cgroup->id] += 1;
      if (cgroup->directory) found.try_emplace(cgroup->id, 1);
    }
    for (int i = 0; i < 10 && poll < 100; i += 5) remove("/x" + std::to_string(10 * poll + i));
    recorded = made;
  }

  EXPECT_EQ(found.size(), 1000U);
  for (const auto& [id, times] : found) EXPECT_EQ(times, 1) << id;
  EXPECT_EQ(missed, 0U);
}

}  // namespace
}  // namespace pex::cgroup
