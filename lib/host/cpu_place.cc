#include "host/cpu_place.h"

#include <climits>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/small_file.h"
#include "base/text.h"

namespace pex::host {
namespace {

namespace fs = std::filesystem;

/// Nothing for -1, the kernel's value for unknown.
std::optional<int> parse_id(std::string_view text) {
  const std::optional<std::uint64_t> id = parse_unsigned(text);
  if (!id || *id > INT_MAX) return {};
  return static_cast<int>(*id);
}

std::optional<int> id_in(const std::string& file) {
  Result<std::string> text = read_small_file(file);
  return text ? parse_id(without_final_newline(*std::move(text))) : std::nullopt;
}

/// The kernel shows it as a link: cpu16/node1.
std::optional<int> numa_node_of(const std::string& cpu_folder) {
  constexpr std::string_view kNode = "node";
  std::error_code code;
  for (fs::directory_iterator entry{cpu_folder, code}, end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kNode)) continue;
    if (const std::optional<int> node = parse_id(name.substr(kNode.size()))) return node;
  }
  return {};
}

}  // namespace

CpuPlace read_cpu_place(const HostRoots& roots, int cpu) {
  const std::string folder = roots.cpu(cpu);
  const std::string topology = folder + "/topology/";
  return CpuPlace{.cpu = cpu,
                  .core = id_in(topology + "core_id").value_or(cpu),
                  .die = id_in(topology + "die_id").value_or(0),
                  .package = id_in(topology + "physical_package_id").value_or(0),
                  .numa_node = numa_node_of(folder).value_or(0)};
}

}  // namespace pex::host
