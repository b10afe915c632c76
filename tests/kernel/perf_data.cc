#include "perf_data.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace pex::test {
namespace {

struct Section {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct FileHeader {
  char magic[8] = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'};
  std::uint64_t size = sizeof(FileHeader);
  std::uint64_t attr_size = 0;  ///< of an attribute with the section of its ids
  Section attributes;
  Section data;
  Section event_types;  ///< not used since Linux 3.11
  std::uint64_t features[4] = {};
};

std::span<const std::byte> part(std::span<const std::byte> bytes, Section section) {
  if (section.offset > bytes.size() || section.size > bytes.size() - section.offset) {
    throw std::runtime_error("a section is not in the file");
  }
  return bytes.subspan(section.offset, section.size);
}

template <typename T>
T read(std::span<const std::byte> bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, part(bytes, {offset, sizeof(T)}).data(), sizeof(T));
  return value;
}

std::vector<std::byte> whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw std::runtime_error("cannot read " + path);
  const auto raw = std::as_bytes(std::span(bytes));
  return {raw.begin(), raw.end()};
}

/// `bytes` is an attribute, perhaps shorter or longer than ours, and the section of its ids.
PerfDataEvent read_event(std::span<const std::byte> file, std::span<const std::byte> bytes) {
  PerfDataEvent event;
  const std::size_t size = bytes.size() - sizeof(Section);
  std::memcpy(&event.attributes, bytes.data(), std::min(size, sizeof(event.attributes)));
  const std::span<const std::byte> ids = part(file, read<Section>(bytes, size));
  event.ids.resize(ids.size() / sizeof(std::uint64_t));
  std::memcpy(event.ids.data(), ids.data(), event.ids.size() * sizeof(std::uint64_t));
  return event;
}

template <typename T>
void write(std::ostream& out, std::span<const T> values) {
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size_bytes()));
}

template <typename T>
void write(std::ostream& out, const T& value) {
  write(out, std::span<const T>(&value, 1));
}

}  // namespace

perf::SampleFormat format_of(const perf::EventAttr& attributes) {
  return {.sample_type = attributes.sample_type,
          .read_format = attributes.read_format,
          .branch_sample_type = attributes.branch_sample_type,
          .sample_regs_user = attributes.sample_regs_user,
          .sample_regs_intr = attributes.sample_regs_intr,
          .sample_id_all = (attributes.flags & perf::attr_flag(perf::AttrFlag::kSampleIdAll)) != 0};
}

PerfDataFile::PerfDataFile(const std::string& path) : bytes_(whole_file(path)) {
  const auto header = read<FileHeader>(bytes_, 0);
  if (std::memcmp(header.magic, FileHeader().magic, sizeof(header.magic)) != 0) {
    throw std::runtime_error(path + " is no perf.data of this machine's byte order");
  }
  if (header.attr_size <= sizeof(Section)) throw std::runtime_error("attributes of no size");
  const std::span<const std::byte> attributes = part(bytes_, header.attributes);
  for (std::size_t at = 0; at + header.attr_size <= attributes.size(); at += header.attr_size) {
    events_.push_back(read_event(bytes_, attributes.subspan(at, header.attr_size)));
  }
  part(bytes_, header.data);
  data_offset_ = header.data.offset;
  data_size_ = header.data.size;
}

std::vector<PerfDataFile::Record> PerfDataFile::records() const {
  std::vector<Record> records;
  const std::uint64_t end = data_offset_ + data_size_;
  for (std::uint64_t at = data_offset_; at < end;) {
    const auto header = read<perf_event_header>(bytes_, at);
    if (header.size < sizeof(header)) throw std::runtime_error("a record without a size");
    records.push_back({at, part(bytes_, {at, header.size})});
    at += header.size;
  }
  return records;
}

void write_perf_data(const std::string& path, std::span<const PerfDataEvent> events,
                     std::span<const std::byte> records) {
  FileHeader header;
  header.attr_size = perf::kAttrSizeVer7 + sizeof(Section);
  std::uint64_t at = sizeof(header);
  std::vector<Section> ids;
  for (const PerfDataEvent& event : events) {
    ids.push_back({at, event.ids.size() * sizeof(std::uint64_t)});
    at += ids.back().size;
  }
  header.attributes = {at, events.size() * header.attr_size};
  header.data = {at + header.attributes.size, records.size()};

  std::ofstream out(path, std::ios::binary);
  write(out, header);
  for (const PerfDataEvent& event : events) write(out, std::span<const std::uint64_t>(event.ids));
  for (std::size_t n = 0; n < events.size(); ++n) {
    perf::EventAttr attributes = events[n].attributes;
    attributes.size = perf::kAttrSizeVer7;
    write(out, std::as_bytes(std::span(&attributes, 1)).first(attributes.size));
    write(out, ids[n]);
  }
  write(out, records);
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path);
}

}  // namespace pex::test
