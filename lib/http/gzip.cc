#include "http/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>

namespace pex::http {
namespace {

constexpr int kLevel = 1;
constexpr int kGzipFormat = 16;  // added to the window's bits (zlib.h, deflateInit2)
constexpr int kMemoryLevel = 8;  // zlib's own default

// A first guess at what will be left, which the text of metrics stays below. A text that does not
// compress makes the output grow; room for the worst case from the start would be as large as the
// text, and be filled with zeros each time.
constexpr std::size_t kGuess = 12;
constexpr std::size_t kLeastRoom = 16 * 1024;

uInt fitting(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

/// zlib.h takes what it only reads as not const where ZLIB_CONST is not set.
Bytef* bytes_of(const char* text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text)); }

}  // namespace

struct Gzip::Stream {
  z_stream zlib{};

  Stream() {
    // It fails for want of memory only: the settings are constants.
    if (::deflateInit2(&zlib, kLevel, Z_DEFLATED, MAX_WBITS + kGzipFormat, kMemoryLevel,
                       Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { ::deflateEnd(&zlib); }

  /// Whether all of it is out.
  bool deflate_into(std::string& compressed, std::size_t& filled, std::string_view& text) {
    zlib.next_in = bytes_of(text.data());
    zlib.avail_in = fitting(text.size());
    zlib.next_out = bytes_of(compressed.data() + filled);
    zlib.avail_out = fitting(compressed.size() - filled);
    const uInt given = zlib.avail_in;
    const uInt room = zlib.avail_out;
    const int result = ::deflate(&zlib, given == text.size() ? Z_FINISH : Z_NO_FLUSH);
    text.remove_prefix(given - zlib.avail_in);
    filled += room - zlib.avail_out;
    return result == Z_STREAM_END;
  }
};

Gzip::Gzip() : stream_(std::make_unique<Stream>()) {}
Gzip::~Gzip() = default;

void Gzip::compress(std::string_view text, std::string& compressed) {
  ::deflateReset(&stream_->zlib);
  compressed.resize(std::max(kLeastRoom, text.size() / kGuess));
  std::size_t filled = 0;
  while (!stream_->deflate_into(compressed, filled, text)) {
    if (filled == compressed.size()) compressed.resize(2 * compressed.size());
  }
  compressed.resize(filled);
}

}  // namespace pex::http
