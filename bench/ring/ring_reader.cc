#include "bench/ring/ring_reader.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <variant>

#include "host/self_process.h"
#include "perf/record/record.h"

namespace pex::bench {
namespace {

constexpr int kMaxWait = 50;  // ms, until it looks whether it is to end

double cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// The bytes between tail and head, and the ring they are in.
struct Unread {
  explicit Unread(const perf::RingBuffer& ring)
      : data(reinterpret_cast<const char*>(&ring.page()) + ring.page().data_offset),
        size(ring.size()),
        head(__atomic_load_n(&ring.page().data_head, __ATOMIC_ACQUIRE)),
        tail(ring.page().data_tail) {}

  const char* data;
  std::size_t size;
  std::uint64_t head;
  std::uint64_t tail;
};

}  // namespace

const char* name_of(Way way) {
  constexpr const char* kNames[] = {"floor: walk from header to header", "floor: memcpy", "drain",
                                    "drain and decode_record"};
  return kNames[static_cast<std::size_t>(way)];
}

RingReader::RingReader(SwitchRecords& records, int cpu, std::vector<Way> ways)
    : records_(records), ways_(std::move(ways)), copy_(records.ring().size()) {
  readings_.reserve(1 << 16);
  thread_ = std::thread{[this, cpu] { run(cpu); }};
}

RingReader::~RingReader() { stop(); }

void RingReader::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void RingReader::run(int cpu) {
  is_bound_ = host::bind_thread_to(cpu);
  std::memset(copy_.data(), 1, copy_.size());
  records_.ring().drain([](std::span<const std::byte>) {});
  const auto start = std::chrono::steady_clock::now();
  const double cpu_start = cpu_time();
  for (std::size_t number = 0; !stopping_; ++number) {
    pollfd ring{records_.ring().fd(), POLLIN, 0};
    if (::poll(&ring, 1, kMaxWait) == 1) read(ways_[number % ways_.size()]);
  }
  cpu_ns_ = cpu_time() - cpu_start;
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void RingReader::read(Way way) {
  const std::uint64_t before = report_.records;
  const double start = cpu_time();
  switch (way) {
    case Way::kWalk:
      walk();
      break;
    case Way::kCopy:
      copy();
      break;
    case Way::kDrain:
      drain();
      break;
    case Way::kDecode:
      decode();
      break;
  }
  const double took = cpu_time() - start;
  if (way == Way::kWalk || way == Way::kCopy) drain();
  const std::size_t records = report_.records - before;
  if (records == 0) return;
  readings_.push_back({way, records, took / static_cast<double>(records)});
}

void RingReader::walk() {
  const Unread unread{records_.ring()};
  for (std::uint64_t at = unread.tail; at != unread.head;) {
    perf_event_header header;
    std::memcpy(&header, unread.data + (at & (unread.size - 1)), sizeof header);
    checksum_ += header.type;
    at += header.size;
  }
}

void RingReader::copy() {
  const Unread unread{records_.ring()};
  const std::size_t bytes = unread.head - unread.tail;
  const std::size_t at = unread.tail & (unread.size - 1);
  const std::size_t first = std::min(bytes, unread.size - at);
  std::memcpy(copy_.data(), unread.data + at, first);
  std::memcpy(copy_.data() + first, unread.data, bytes - first);
  checksum_ += static_cast<std::uint64_t>(copy_[bytes / 2]);
}

void RingReader::drain() {
  report_ += records_.ring().drain([this](std::span<const std::byte> record) {
    std::uint64_t word = 0;
    std::memcpy(&word, record.data() + record.size() - sizeof word, sizeof word);
    checksum_ += word;
  });
}

void RingReader::decode() {
  report_ += records_.ring().drain([this](std::span<const std::byte> bytes) {
    const auto record = perf::decode_record(records_.layout(), bytes);
    const auto* const sample = record ? std::get_if<perf::Sample>(&*record) : nullptr;
    if (sample != nullptr) account(*sample->cgroup, sample->values->counters);
  });
}

void RingReader::account(std::uint64_t cgroup, const perf::CounterValues& counters) {
  Totals& totals = totals_of(cgroup);
  const std::size_t events = std::min(counters.size(), kEvents);
  for (std::size_t event = 0; event < events; ++event) {
    const std::uint64_t value = counters[event].value;
    totals.counts[event] += value - before_[event];
    before_[event] = value;
  }
}

/// By open addressing; more cgroups than there is room for share the last place looked at.
RingReader::Totals& RingReader::totals_of(std::uint64_t cgroup) {
  std::size_t at = cgroup % totals_.size();
  for (std::size_t tried = 0; tried < totals_.size(); ++tried) {
    if (totals_[at].cgroup == cgroup) break;
    if (totals_[at].cgroup == 0) {
      totals_[at].cgroup = cgroup;
      break;
    }
    at = (at + 1) % totals_.size();
  }
  return totals_[at];
}

std::size_t RingReader::cgroups() const {
  return static_cast<std::size_t>(std::count_if(
      totals_.begin(), totals_.end(), [](const Totals& totals) { return totals.counts[0] != 0; }));
}

}  // namespace pex::bench
