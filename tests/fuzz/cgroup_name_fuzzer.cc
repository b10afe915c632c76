#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cgroup/naming.h"

namespace {

using pex::cgroup::Naming;
using pex::cgroup::naming_of;

/// Not assert: it must hold in an optimized build too.
void require(bool holds) {
  if (!holds) std::abort();
}

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

void require_that_ids_occur(const Naming& naming, std::string_view path) {
  require(occurs(naming.container_id, path));
  require(occurs(naming.uid, path));
  require(occurs(naming.session, path));
  require(occurs(naming.slurm_job, path));
  require(occurs(naming.ecs_task.substr(0, 8), path));
  require(occurs(naming.pod_uid.substr(0, 8), path));
}

void require_that_parts_fit(const Naming& naming) {
  require(naming.container_id.empty() || naming.container_id.size() >= 34);
  require(naming.container_id.empty() || naming.machine.empty());
  require(naming.pod_uid.empty() == naming.qos_class.empty());
  require(naming.session.empty() || !naming.uid.empty());
  require(naming.slurm_step.empty() || !naming.slurm_job.empty());
}

bool tells_of_workload(const Naming& naming) {
  Naming units;
  units.unit = naming.unit;
  units.slice = naming.slice;
  units.uid = naming.uid;
  units.session = naming.session;
  return naming != units;
}

}  // namespace

/// Any bytes have a naming whose ids are of the path; inside of a container it is the same, or that
/// of the container.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = path_of({reinterpret_cast<const char*>(data), size});

  const Naming naming = naming_of(path);

  require_that_ids_occur(naming, path);
  require_that_parts_fit(naming);
  require(naming_of(path + "/") == naming);
  require(naming_of("//" + path) == naming);
  const Naming nested = naming_of("/docker/" + std::string(kOuter) + "/below/" + path);
  require(nested == naming || (nested.container_id == kOuter && !tells_of_workload(naming)));
  return 0;
}
