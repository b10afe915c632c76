#include "record_lines.h"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "abi/record/callchain.h"
#include "abi/record/record.h"
#include "perf_data.h"

namespace pex::test {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

/// Bytes beyond ASCII as Latin-1, so that the reader has them all.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"' || c == '\\') {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", byte);
      result += escape;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

class JsonObject {
 public:
  template <typename Number>
  requires std::is_arithmetic_v<Number> JsonObject& add(std::string_view key, Number value) {
    return raw(key, std::to_string(value));
  }
  JsonObject& add(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  JsonObject& add(std::string_view key, std::chrono::nanoseconds time) {
    return add(key, static_cast<std::uint64_t>(time.count()));
  }
  JsonObject& add(std::string_view key, std::string_view text) { return raw(key, quoted(text)); }
  JsonObject& add(std::string_view key, std::span<const std::byte> bytes) {
    return add(key, std::string_view(hex(bytes)));
  }
  JsonObject& add(std::string_view key, const perf::PackedSpan<std::uint64_t>& words) {
    std::string list;
    for (const std::uint64_t word : words) {
      list.append(list.empty() ? "" : ",").append(std::to_string(word));
    }
    return raw(key, "[" + list + "]");
  }
  JsonObject& add(std::string_view, const perf::TaskId& task) {
    return add("pid", task.pid).add("tid", task.tid);
  }
  template <typename T>
  JsonObject& add(std::string_view key, const std::optional<T>& value) {
    return value ? add(key, *value) : *this;
  }
  JsonObject& add(std::string_view key, const std::vector<JsonObject>& list) {
    std::string text;
    for (const JsonObject& each : list) text.append(text.empty() ? "" : ",").append(each.text());
    return raw(key, "[" + text + "]");
  }

  std::string text() const { return "{" + members_ + "}"; }

 private:
  JsonObject& raw(std::string_view key, const std::string& value) {
    if (!members_.empty()) members_ += ",";
    members_ += quoted(key) + ":" + value;
    return *this;
  }

  std::string members_;
};

void add(JsonObject& out, const perf::ReadValues& values) {
  out.add("time_enabled", values.time_enabled).add("time_running", values.time_running);
  std::vector<JsonObject> counters;
  for (const perf::CounterValue& counter : values.counters) {
    counters.emplace_back()
        .add("value", counter.value)
        .add("id", counter.id)
        .add("lost", counter.lost);
  }
  out.add("counters", counters);
}

void add_registers(JsonObject& out, std::string prefix,
                   const std::optional<perf::Registers>& registers) {
  if (!registers) return;
  out.add(prefix + "_abi", static_cast<std::uint64_t>(registers->abi));
  out.add(prefix + "_mask", registers->mask).add(prefix, registers->values);
}

void add(JsonObject& out, const perf::BranchStack& stack) {
  std::vector<JsonObject> entries;
  for (const perf::BranchEntry& entry : stack.entries) {
    entries.emplace_back().add("from", entry.from).add("to", entry.to).add("flags", entry.flags);
  }
  out.add("branches", entries);
  out.add("hw_index", stack.hw_index).add("branch_counters", stack.counters);
}

void members(JsonObject& out, const perf::Sample& sample) {
  out.add("identifier", sample.identifier).add("ip", sample.ip).add("task", sample.task);
  out.add("time", sample.time).add("addr", sample.address).add("id", sample.id);
  out.add("stream_id", sample.stream_id).add("cpu", sample.cpu).add("period", sample.period);
  if (sample.values) add(out, *sample.values);
  out.add("callchain", sample.callchain).add("raw", sample.raw);
  if (sample.branches) add(out, *sample.branches);
  add_registers(out, "user_regs", sample.user_registers);
  if (sample.user_stack) {
    out.add("stack", sample.user_stack->bytes).add("dyn_size", sample.user_stack->valid);
  }
  out.add("weight", sample.weight);
  if (sample.weight_parts) {
    out.add("var1", sample.weight_parts->var1).add("var2", sample.weight_parts->var2);
    out.add("var3", sample.weight_parts->var3);
  }
  if (sample.data_source) out.add("data_src", sample.data_source->value);
  if (sample.transaction) out.add("transaction", sample.transaction->value);
  add_registers(out, "intr_regs", sample.interrupt_registers);
  out.add("phys_addr", sample.physical_address).add("cgroup", sample.cgroup);
  out.add("data_page_size", sample.data_page_size).add("code_page_size", sample.code_page_size);
  out.add("aux", sample.aux);
}

template <typename Mapping>
void mapping_members(JsonObject& out, const Mapping& mmap) {
  out.add("task", mmap.task).add("addr", mmap.address).add("len", mmap.length);
  out.add("pgoff", mmap.page_offset).add("is_data", mmap.is_data()).add("filename", mmap.path);
}

void members(JsonObject& out, const perf::Mmap& mmap) { mapping_members(out, mmap); }

void members(JsonObject& out, const perf::Mmap2& mmap) {
  mapping_members(out, mmap);
  out.add("prot", mmap.protection).add("flags", mmap.flags);
  if (const auto* build_id = std::get_if<perf::BuildId>(&mmap.file)) {
    out.add("build_id", build_id->bytes);
    return;
  }
  const auto& file = std::get<perf::FileIdentity>(mmap.file);
  out.add("maj", file.device_major).add("min", file.device_minor);
  out.add("ino", file.inode).add("ino_generation", file.inode_generation);
}

void members(JsonObject& out, const perf::Lost& lost) {
  out.add("id", lost.event_id).add("lost", lost.lost);
}

void members(JsonObject& out, const perf::Comm& comm) {
  out.add("task", comm.task).add("exec", comm.by_exec()).add("comm", comm.name);
}

template <typename Life>
void life_members(JsonObject& out, const Life& life) {
  out.add("task", life.task).add("ppid", life.parent.pid).add("ptid", life.parent.tid);
  out.add("time", life.time);
}
void members(JsonObject& out, const perf::Exit& exit) { life_members(out, exit); }
void members(JsonObject& out, const perf::Fork& fork) { life_members(out, fork); }

template <typename Rate>
void rate_members(JsonObject& out, const Rate& rate) {
  out.add("time", rate.time).add("id", rate.event_id).add("stream_id", rate.stream_id);
}
void members(JsonObject& out, const perf::Throttle& throttle) { rate_members(out, throttle); }
void members(JsonObject& out, const perf::Unthrottle& unthrottle) { rate_members(out, unthrottle); }

void members(JsonObject& out, const perf::Read& read) {
  out.add("task", read.task);
  add(out, read.values);
}

void members(JsonObject& out, const perf::Aux& aux) {
  out.add("aux_offset", aux.offset).add("aux_size", aux.size).add("flags", aux.flags);
}

void members(JsonObject& out, const perf::ItraceStart& start) { out.add("task", start.task); }

void members(JsonObject& out, const perf::LostSamples& lost) { out.add("lost", lost.lost); }

void members(JsonObject& out, const perf::Switch& change) {
  out.add("out", change.is_out()).add("preempt", change.is_preempted());
}

void members(JsonObject& out, const perf::SwitchCpuWide& change) {
  out.add("out", change.is_out()).add("preempt", change.is_preempted()).add("other", change.other);
}

void members(JsonObject& out, const perf::Namespaces& namespaces) {
  std::vector<JsonObject> links;
  for (const perf::NamespaceLink& link : namespaces.links) {
    links.emplace_back().add("dev", link.device).add("ino", link.inode);
  }
  out.add("task", namespaces.task).add("links", links);
}

void members(JsonObject& out, const perf::Ksymbol& symbol) {
  out.add("addr", symbol.address).add("len", symbol.length);
  out.add("type", static_cast<unsigned>(symbol.type)).add("flags", symbol.flags);
  out.add("name", symbol.name);
}

void members(JsonObject& out, const perf::BpfEvent& event) {
  out.add("type", static_cast<unsigned>(event.type)).add("flags", event.flags);
  out.add("id", event.program_id).add("tag", event.tag);
}

void members(JsonObject& out, const perf::Cgroup& cgroup) {
  out.add("cgroup", cgroup.id).add("path", cgroup.path);
}

void members(JsonObject& out, const perf::TextPoke& poke) {
  out.add("addr", poke.address).add("old", poke.old_bytes).add("new", poke.new_bytes);
}

void members(JsonObject& out, const perf::AuxOutputHwId& id) { out.add("hw_id", id.hw_id); }

void members(JsonObject& out, const perf::CallchainDeferred& deferred) {
  out.add("cookie", deferred.cookie).add("callchain", deferred.callchain);
}

void members(JsonObject&, const perf::Unknown&) {}

void add(JsonObject& out, const perf::SampleId& id) {
  JsonObject trailer;
  trailer.add("task", id.task).add("time", id.time).add("id", id.id);
  trailer.add("stream_id", id.stream_id).add("cpu", id.cpu).add("identifier", id.identifier);
  out.add("sample_id", std::vector{trailer});
}

/// By the id in the record, where several events have written it.
class Layouts {
 public:
  explicit Layouts(const std::vector<PerfDataEvent>& events) {
    for (const PerfDataEvent& event : events) {
      const auto layout = perf::SampleLayout::of(format_of(event.attributes));
      if (!layout) throw std::runtime_error(describe(layout.error()));
      layouts_.push_back(*layout);
      for (const std::uint64_t id : event.ids) by_id_[id] = layouts_.size() - 1;
    }
    if (layouts_.empty()) throw std::runtime_error("a file without events");
  }

  /// Records without an id, as those that perf(1) makes of what there was before it came, have the
  /// layout of the first.
  std::size_t of(std::span<const std::byte> record) const {
    const auto found = by_id_.find(layouts_.front().event_id(record).value_or(0));
    return found == by_id_.end() ? 0 : found->second;
  }
  const perf::SampleLayout& operator[](std::size_t event) const { return layouts_[event]; }

 private:
  std::vector<perf::SampleLayout> layouts_;
  std::map<std::uint64_t, std::size_t> by_id_;
};

/// perf(1) appends its own types from here on.
constexpr std::uint32_t kFirstTypeOfPerf = 64;

void print(const Layouts& layouts, const PerfDataFile::Record& record) {
  JsonObject out;
  const std::size_t event = layouts.of(record.bytes);
  out.add("offset", record.offset).add("size", record.bytes.size()).add("event", event);
  const auto decoded = perf::decode_record(layouts[event], record.bytes);
  if (!decoded) {
    out.add("error", std::string_view(describe(decoded.error())));
    std::cout << out.text() << '\n';
    return;
  }
  if (const auto* unknown = std::get_if<perf::Unknown>(&*decoded)) {
    if (unknown->type >= kFirstTypeOfPerf) return;
    out.add("type", unknown->type);
  }
  const std::string_view name = perf::record_name(perf::type_of(*decoded));
  if (!name.empty()) out.add("record", name);
  out.add("misc", perf::misc_of(*decoded).bits);
  std::visit([&](const auto& value) { members(out, value); }, *decoded);
  if (const perf::SampleId* id = perf::sample_id_of(*decoded)) add(out, *id);
  std::cout << out.text() << '\n';
}

}  // namespace

void print_records(const std::string& path) {
  const PerfDataFile file(path);
  const Layouts layouts(file.events());
  for (const PerfDataFile::Record& record : file.records()) print(layouts, record);
}

}  // namespace pex::test
