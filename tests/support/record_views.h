#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <variant>

#include "abi/record/record.h"

namespace pex::test {

/// Whether all that a record views is a part of the buffer that it was decoded from.
class ViewCheck {
 public:
  explicit ViewCheck(std::span<const std::byte> buffer) : buffer_(buffer) {}

  bool operator()(const perf::Record& record) const {
    return std::visit([this](const auto& value) { return holds(value); }, record);
  }

 private:
  bool holds(std::span<const std::byte> view) const {
    if (view.empty()) return true;
    const std::less_equal<> at_most;  // also of pointers into different buffers
    return at_most(buffer_.data(), view.data()) &&
           at_most(view.data() + view.size(), buffer_.data() + buffer_.size());
  }
  bool holds(std::string_view text) const {
    return holds(std::as_bytes(std::span(text.data(), text.size())));
  }
  template <typename T>
  bool holds(const perf::PackedSpan<T>& view) const {
    return holds(view.bytes());
  }
  template <typename T>
  bool holds(const std::optional<T>& view) const {
    return !view || holds(*view);
  }
  bool holds(const perf::ReadValues& values) const {
    // A view without a pointer to show: reading each counter is what a sanitizer watches.
    std::uint64_t sum = 0;
    for (const perf::CounterValue& counter : values.counters) {
      sum += counter.value + counter.id.value_or(0) + counter.lost.value_or(0);
    }
    return values.counters.size() <= buffer_.size() / sizeof(sum);
  }
  bool holds(const perf::BranchStack& stack) const {
    return holds(stack.entries) && holds(stack.counters);
  }
  bool holds(const perf::Registers& registers) const { return holds(registers.values); }
  bool holds(const perf::StackDump& stack) const {
    return holds(stack.bytes) && holds(stack.valid_bytes());
  }
  bool holds(const perf::Sample& sample) const {
    return holds(sample.values) && holds(sample.callchain) && holds(sample.raw) &&
           holds(sample.branches) && holds(sample.user_registers) && holds(sample.user_stack) &&
           holds(sample.interrupt_registers) && holds(sample.aux);
  }
  bool holds(const perf::Mmap& mmap) const { return holds(mmap.path); }
  bool holds(const perf::Mmap2& mmap) const {
    const auto* build_id = std::get_if<perf::BuildId>(&mmap.file);
    return holds(mmap.path) && (build_id == nullptr || holds(build_id->bytes));
  }
  bool holds(const perf::Comm& comm) const { return holds(comm.name); }
  bool holds(const perf::Read& read) const { return holds(read.values); }
  bool holds(const perf::Namespaces& namespaces) const { return holds(namespaces.links); }
  bool holds(const perf::Ksymbol& symbol) const { return holds(symbol.name); }
  bool holds(const perf::BpfEvent& event) const { return holds(event.tag); }
  bool holds(const perf::Cgroup& cgroup) const { return holds(cgroup.path); }
  bool holds(const perf::TextPoke& poke) const {
    return holds(poke.old_bytes) && holds(poke.new_bytes);
  }
  bool holds(const perf::CallchainDeferred& deferred) const { return holds(deferred.callchain); }
  bool holds(const perf::Unknown& unknown) const { return holds(unknown.bytes); }

  bool holds(const perf::Lost&) const { return true; }
  bool holds(const perf::Exit&) const { return true; }
  bool holds(const perf::Fork&) const { return true; }
  bool holds(const perf::Throttle&) const { return true; }
  bool holds(const perf::Unthrottle&) const { return true; }
  bool holds(const perf::Aux&) const { return true; }
  bool holds(const perf::ItraceStart&) const { return true; }
  bool holds(const perf::LostSamples&) const { return true; }
  bool holds(const perf::Switch&) const { return true; }
  bool holds(const perf::SwitchCpuWide&) const { return true; }
  bool holds(const perf::AuxOutputHwId&) const { return true; }

  std::span<const std::byte> buffer_;
};

}  // namespace pex::test
