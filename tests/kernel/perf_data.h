#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "abi/record/sample_format.h"
#include "perf/event_attr.h"

// The files of perf(1): tools/perf/Documentation/perf.data-file-format.txt of the kernel. Only
// "PERFILE2" of this machine's byte order, not compressed, without the feature sections.

namespace pex::test {

/// An event of the file, and the ids by which its records name it.
struct PerfDataEvent {
  perf::EventAttr attributes = {};
  std::vector<std::uint64_t> ids;
};

perf::SampleFormat format_of(const perf::EventAttr& attributes);

/// A file as it is, in memory. Throws std::runtime_error if it is not whole.
class PerfDataFile {
 public:
  explicit PerfDataFile(const std::string& path);

  const std::vector<PerfDataEvent>& events() const { return events_; }

  struct Record {
    std::uint64_t offset;  ///< in the file
    std::span<const std::byte> bytes;
  };
  /// All records of the data section, those of perf(1) itself included.
  std::vector<Record> records() const;

 private:
  std::vector<std::byte> bytes_;
  std::vector<PerfDataEvent> events_;
  std::uint64_t data_offset_ = 0;
  std::uint64_t data_size_ = 0;
};

/// With attributes of the size that perf(1) has known since Linux 5.13. Throws std::runtime_error
/// if the file cannot be written.
void write_perf_data(const std::string& path, std::span<const PerfDataEvent> events,
                     std::span<const std::byte> records);

}  // namespace pex::test
