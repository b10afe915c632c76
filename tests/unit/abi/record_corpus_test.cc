// The seeds of tests/fuzz/record_fuzzer.cc are what the encoder makes:
//
//   PEX_UPDATE_CORPUS=1 build/dev/tests/unit/perf_test --gtest_filter='RecordCorpusTest.*'

#include <linux/perf_event.h>

#include <cstdlib>
#include <iterator>

#include "abi/record/record.h"
#include "support/record_encoder.h"
#include "support/test_headers.h"

namespace pex::perf {
namespace {

using test::Bytes;
using test::RecordEncoder;
using Seeds = std::map<std::string, std::string>;

const std::filesystem::path kCorpus = PEX_SOURCE_DIR "/tests/fuzz/corpus/record";

/// All fields, options and records.
SampleFormat everything() {
  SampleFormat format;
  format.sample_type = ((1u << 25) - 1) & ~std::uint64_t{PERF_SAMPLE_WEIGHT_STRUCT};
  format.read_format = (1u << 5) - 1;
  format.branch_sample_type = (1u << 20) - 1;
  format.sample_regs_user = 0xff0fff;
  format.sample_regs_intr = 0x3;
  format.sample_id_all = true;
  return format;
}

/// What counting cgroups by their switches asks for.
SampleFormat of_switches() {
  SampleFormat format;
  format.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP;
  format.read_format = PERF_FORMAT_GROUP;
  return format;
}

/// As the fuzzer takes it: the format, then the record.
std::string seed(const SampleFormat& format, const Bytes& record) {
  Bytes bytes = RecordEncoder()
                    .u64(format.sample_type)
                    .u64(format.read_format)
                    .u64(format.branch_sample_type)
                    .u64(format.sample_regs_user)
                    .u64(format.sample_regs_intr)
                    .u8(format.sample_id_all ? 1 : 0)
                    .body();
  bytes.insert(bytes.end(), record.begin(), record.end());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string name_of(std::uint32_t type) {
  std::string name(record_name(type).substr(std::string_view("PERF_RECORD_").size()));
  for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
  return name;
}

Seeds seeds() {
  Seeds made;
  for (const auto& [prefix, format] :
       {std::pair("everything_", everything()), std::pair("switches_", of_switches())}) {
    for (const auto& [type, record] : test::one_record_of_each_type(format)) {
      const std::string name = prefix + name_of(type);
      made[made.contains(name) ? name + "_with_build_id" : name] = seed(format, record);
    }
  }
  test::EncodedSample empty = test::full_sample(everything());
  empty.has_branch_stack = false;
  made["sample_without_branch_stack"] =
      seed(everything(), RecordEncoder(PERF_RECORD_SAMPLE).sample(everything(), empty).record());
  made["unknown_type"] = seed(everything(), RecordEncoder(99).bytes("whatever").record());
  return made;
}

/// Those of these names: the corpus also has what fuzzing found.
Seeds committed(const Seeds& of) {
  Seeds found;
  for (const auto& [name, ignored] : of) {
    std::ifstream file(kCorpus / name, std::ios::binary);
    found[name] = {std::istreambuf_iterator<char>(file), {}};
  }
  return found;
}

void update() {
  for (const auto& [name, bytes] : seeds()) {
    std::ofstream(kCorpus / name, std::ios::binary) << bytes;
  }
}

TEST(RecordCorpusTest, HasWhatTheEncoderMakes) {
  if (std::getenv("PEX_UPDATE_CORPUS") != nullptr) update();

  EXPECT_EQ(committed(seeds()), seeds());
}

}  // namespace
}  // namespace pex::perf
