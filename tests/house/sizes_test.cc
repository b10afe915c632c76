// g++ 12 takes parts of std::regex's automaton for uninitialized where AddressSanitizer is in it.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// What documents and manifests say of sizes is what `size` prints.

#include "daemon/commands/sizes.h"

#include <cerrno>
#include <iterator>
#include <regex>
#include <stdexcept>

#include "plan/load_plan.h"
#include "support/scripted_kernel.h"
#include "support/temp_tree.h"
#include "support/test_headers.h"
#include "targets/budget.h"

namespace pex {
namespace {

const std::filesystem::path kRoot = PEX_SOURCE_DIR;

constexpr std::size_t kContainers = 300;
constexpr std::size_t kMiB = 1024 * 1024;

/// Of prose, which may be wrapped anywhere.
std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string read(const std::filesystem::path& file) {
  std::ifstream stream{kRoot / file};
  if (!stream) throw std::runtime_error(file.string() + " cannot be read");
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The hardware of a node of 64 CPUs.
struct Node {
  const char* name;
  bool has_pmu;
  bool has_aperf;
};
constexpr Node kNodes[] = {
    {"no PMU", false, false}, {"a PMU", true, false}, {"a PMU, `msr/aperf/`", true, true}};

plan::LoadedPlan plan_of(const std::string& configuration, const Node& node) {
  test::TempTree tree{{"sys/devices/system/cpu/online", "0-63\n"}, {"cgroup/"}, {"proc/"}};
  if (node.has_aperf) {
    const std::string msr = "sys/bus/event_source/devices/msr/";
    tree.write(msr + "type", "9\n");
    tree.write(msr + "format/event", "config:0-63\n");
    tree.write(msr + "events/aperf", "event=0x01\n");
  }
  test::ScriptedKernel kernel{tree.path("cgroup")};
  kernel.only_tried(node.has_aperf);  // then the register moves
  for (const char* event : {"cycles", "instructions", "branches", "branch-misses",
                            "cache-references", "cache-misses", "ref-cycles", "bus-cycles"}) {
    if (!node.has_pmu) kernel.refuse(event, ENOENT);
  }
  auto planned =
      plan::load_and_plan((kRoot / configuration).string(),
                          {tree.path("sys"), tree.path("proc"), tree.path("cgroup")}, kernel);
  if (!planned) throw std::runtime_error(describe(planned.error().front()));
  return std::move(*planned);
}

/// Both ways of counting the containers of `node`.
struct Sizes {
  daemon::Size by_descriptors;
  daemon::Size by_records;
  std::size_t series_of_a_container;
};

Sizes sizes_on(const std::string& configuration, const Node& node) {
  const plan::LoadedPlan planned = plan_of(configuration, node);
  const std::vector<daemon::Size> sizes = daemon::sizes_of(planned, *planned.cpus, kContainers);
  const auto more = daemon::sizes_of(planned, *planned.cpus, kContainers + 1);
  return {sizes.at(0), sizes.at(1), more.at(0).series - sizes.at(0).series};
}

/// "268 800"
std::string in_groups(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, " ");
  return text;
}

std::string row_of(const std::string& overlay, const Node& node, const Sizes& sizes) {
  std::string row = "| `overlays/" + overlay + "` | " + node.name + " |";
  for (const std::size_t number :
       {sizes.by_descriptors.counters, sizes.by_records.counters, sizes.series_of_a_container,
        sizes.by_records.series, sizes.by_descriptors.mebibytes_to_request(),
        sizes.by_records.mebibytes_to_request()}) {
    row += " " + in_groups(number) + " |";
  }
  return row + "\n";
}

struct Overlay {
  const char* name;
  const char* configuration;
};
constexpr Overlay kOverlays[] = {
    {"default", "packaging/kubernetes/base/perf_event_exporter.yaml"},
    {"minimal", "packaging/kubernetes/overlays/minimal/perf_event_exporter.yaml"}};

TEST(SizesTest, OfTheTableInTheDocumentOfContainersAreThoseThatAreComputed) {
  std::string table =
      "| | node with | counters, by descriptors | by records | series of a container | of the node "
      "| "
      "MiB to request, by descriptors | by records |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Overlay& overlay : kOverlays) {
    for (const Node& node : kNodes) {
      table += row_of(overlay.name, node, sizes_on(overlay.configuration, node));
    }
  }

  EXPECT_NE(read("docs/containers.md").find(table), std::string::npos)
      << "docs/containers.md should have:\n"
      << table;
}

/// What a node of this kind needs at most by records, in multiples of `step`.
std::string most_of(std::size_t (daemon::Size::*needed)() const, std::size_t step) {
  std::size_t most = 0;
  for (const Node& node : kNodes) {
    most = std::max(most, (sizes_on(kOverlays[0].configuration, node).by_records.*needed)());
  }
  return std::to_string((most + step - 1) / step * step);
}

TEST(SizesTest, ManifestsAndTheChartRequestWhatIsComputed) {
  const std::string cpu = most_of(&daemon::Size::millicores_to_request, 10);
  const std::string request = most_of(&daemon::Size::mebibytes_to_request, 16);

  for (const char* file : {"packaging/kubernetes/base/daemonset.yaml",
                           "packaging/helm/perf-event-exporter/values.yaml"}) {
    const std::string text = read(file);
    std::smatch found;
    ASSERT_TRUE(std::regex_search(
        text, found, std::regex("\n *requests:\n *cpu: ([0-9]+m)\n *memory: ([0-9]+)Mi[ \n]")))
        << file;
    EXPECT_EQ(found.str(1), cpu + "m") << file;
    EXPECT_EQ(found.str(2), request) << file;
  }
  EXPECT_NE(read("packaging/helm/perf-event-exporter/README.md")
                .find("| " + cpu + "m CPU, " + request + "Mi to 512Mi"),
            std::string::npos);
  EXPECT_NE(read("docs/containers.md").find("Requests (" + cpu + "m, " + request + "Mi)"),
            std::string::npos);
}

TEST(SizesTest, TheLimitOfAPodAllowsAsManyCountersAsIsDocumented) {
  const std::string manifest = read("packaging/kubernetes/base/daemonset.yaml");
  std::smatch limit;
  ASSERT_TRUE(std::regex_search(manifest, limit,
                                std::regex("\n *limits:\n(?: *#.*\n)* *memory: ([0-9]+)Mi")));
  const std::size_t counters =
      collect::Budget::open_events_for({}, std::stoul(limit.str(1)) * kMiB);

  const std::string documented =
      limit.str(1) + "Mi allow " + in_groups(counters / 1000 * 1000) + " counters";
  EXPECT_NE(on_one_line(read("docs/containers.md")).find(documented), std::string::npos)
      << documented;
}

}  // namespace
}  // namespace pex
