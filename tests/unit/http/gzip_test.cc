#include "http/gzip.h"

#include <zlib.h>

#include <random>
#include <string_view>

#include "support/test_headers.h"

namespace pex::http {
namespace {

using ::testing::Lt;
using ::testing::StartsWith;

/// What a client makes of it: the one member of a gzip file, with its checksum right and nothing
/// behind it; "(damaged)" otherwise.
std::string decompressed(std::string_view gzip) {
  z_stream stream{};
  if (::inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) return "(no memory)";
  std::string input(gzip);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  std::string text;
  char block[65536];
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    result = ::inflate(&stream, Z_NO_FLUSH);
    text.append(block, sizeof block - stream.avail_out);
  }
  const bool is_whole = result == Z_STREAM_END && stream.avail_in == 0;
  ::inflateEnd(&stream);
  return is_whole ? text : "(damaged)";
}

std::string text_of_metrics(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += "perf_cgroup_cycles_total{cgroup=\"/system.slice/web-" + std::to_string(i % 50) +
            ".service\",cpu=\"" + std::to_string(i / 50) + "\"} " + std::to_string(i * 7919) + "\n";
  }
  return text;
}

std::string noise(std::size_t bytes) {
  std::mt19937 random(20260901);
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(random() & 0xff);
  return text;
}

TEST(GzipTest, GivesTheTextBack) {
  Gzip gzip;
  std::string compressed;

  for (const std::string& text : {std::string(), std::string("a"), std::string(100'000, '\0'),
                                  text_of_metrics(10'000), noise(1'000'000)}) {
    gzip.compress(text, compressed);

    EXPECT_EQ(decompressed(compressed), text) << text.size();
  }
}

TEST(GzipTest, ReplacesWhatWasThere) {
  Gzip gzip;
  std::string compressed;
  gzip.compress(noise(100'000), compressed);

  gzip.compress("short", compressed);

  EXPECT_EQ(decompressed(compressed), "short");
}

TEST(GzipTest, LeavesATenthOfTheTextOfMetricsInTheSameMemory) {
  Gzip gzip;
  std::string compressed;
  const std::string text = text_of_metrics(10'000);
  gzip.compress(text, compressed);
  const char* const memory = compressed.data();

  gzip.compress(text, compressed);

  EXPECT_EQ(compressed.data(), memory);
  EXPECT_THAT(compressed.size(), Lt(text.size() / 10));
}

TEST(GzipTest, GivesTheSameBytesForTheSameText) {
  const std::string text = text_of_metrics(100);
  Gzip used;
  std::string first;
  used.compress("other", first);
  used.compress(text, first);
  Gzip fresh;
  std::string second;

  fresh.compress(text, second);

  EXPECT_EQ(first, second);
  EXPECT_THAT(second, StartsWith(std::string("\x1f\x8b\x08\0\0\0\0\0", 8)));  // no time in it
}

RC_GTEST_PROP(GzipTest, GivesAnyBytesBack, (const std::string& text)) {
  Gzip gzip;
  std::string compressed = "something";

  gzip.compress(text, compressed);

  RC_ASSERT(decompressed(compressed) == text);
}

}  // namespace
}  // namespace pex::http
