#include "records/names_ring.h"

#include <string>

#include "records/switch_recording.h"

namespace pex::collect {
namespace {

struct Visitor {
  void operator()(const perf::SwitchRecord&) const {}
  void operator()(const perf::Loss&) const {}
  void operator()(const perf::NewCgroup& cgroup) const {
    if (named.size() == NamesRing::kMaxNames || bytes > NamesRing::kMaxBytes) return;
    bytes += cgroup.path.size();
    named.push_back({cgroup.id, std::string(cgroup.path)});
  }
  std::vector<cgroup::NamedCgroup>& named;
  std::size_t& bytes;
};

}  // namespace

void NamesRing::follow(bool is_needed) {
  drain();
  if (!is_needed) {
    ring_.reset();
    refused_at_.reset();
    return;
  }
  if (ring_ || (refused_at_ && kernel_->now() - *refused_at_ < kTriesAgain)) return;
  Result<perf::SwitchRing> opened =
      perf::SwitchRing::open(*kernel_, cpu_, {kMinRecordsBuffer, kMinRecordsBuffer}, true);
  refused_at_ = opened ? std::nullopt : std::optional(kernel_->now());
  if (opened) ring_.emplace(std::move(*opened));
}

void NamesRing::drain() {
  if (ring_) (void)ring_->drain(Visitor{named_, bytes_});
}

}  // namespace pex::collect
