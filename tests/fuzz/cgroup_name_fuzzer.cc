#include <cstdint>
#include <string>
#include <string_view>

#include "cgroup/path_info.h"
#include "fuzz/fuzzing.h"

namespace {

using pex::cgroup::parse_path;
using pex::cgroup::PathInfo;
using pex::fuzz::require;

constexpr std::string_view kOuter =
    "c0ffee00112233445566778899aabbccddeeff00112233445566778899aabbcc";

/// A fuzzer does not come upon 64 hex digits by itself, so control bytes stand for ids.
std::string_view meant_by(const char& byte) {
  switch (byte) {
    case 1:
      return "4f1e5b0a9c7d3e28b6a1f04d9e8c7b6a5d4c3b2a19080f7e6d5c4b3a29181706";
    case 2:
      return "2c48913c_b29f_11e7_9350_020968147796";
    case 3:
      return "3d6beaa3004913efb68ce073d73494b0";
    default:
      return {&byte, 1};
  }
}

std::string path_of(std::string_view bytes) {
  std::string path;
  for (const char& byte : bytes) path += meant_by(byte);
  return path;
}

bool occurs(std::string_view text, std::string_view path) {
  return path.find(text) != std::string_view::npos;
}

void require_that_ids_occur(const PathInfo& info, std::string_view path) {
  require(occurs(info.container_id, path));
  require(occurs(info.uid, path));
  require(occurs(info.session, path));
  require(occurs(info.slurm_job, path));
  require(occurs(info.ecs_task.substr(0, 8), path));
  require(occurs(info.pod_uid.substr(0, 8), path));
}

void require_that_parts_fit(const PathInfo& info) {
  require(info.container_id.empty() || info.container_id.size() >= 34);
  require(info.container_id.substr(0, 32).find_first_not_of("0123456789abcdef") ==
          std::string::npos);
  require(info.container_id.empty() || info.machine.empty());
  require(info.pod_uid.empty() == info.qos_class.empty());
  require(info.session.empty() || !info.uid.empty());
  require(info.slurm_step.empty() || !info.slurm_job.empty());
}

void require_that_nothing_is_longer(const PathInfo& info, std::string_view path) {
  for (const pex::cgroup::PathLabel& each : pex::cgroup::kPathLabels) {
    if (each.field == &PathInfo::runtime || each.field == &PathInfo::qos_class) continue;
    require((info.*each.field).size() <= path.size());
  }
}

bool has_workload(const PathInfo& info) {
  PathInfo units;
  units.unit = info.unit;
  units.slice = info.slice;
  units.uid = info.uid;
  units.session = info.session;
  return info != units;
}

}  // namespace

/// Any bytes have a PathInfo whose ids are of the path; inside of a container it is the same, or
/// that of the container.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = path_of(pex::fuzz::text_of(data, size));

  const PathInfo info = parse_path(path);

  require_that_ids_occur(info, path);
  require_that_parts_fit(info);
  require_that_nothing_is_longer(info, path);
  require(parse_path(path + "/") == info);
  require(parse_path("//" + path) == info);
  const PathInfo nested = parse_path("/docker/" + std::string(kOuter) + "/below/" + path);
  PathInfo alone = info;
  alone.is_delegated = nested.is_delegated;
  require(nested == alone || (nested.container_id == kOuter && !has_workload(info)));
  return 0;
}
