#include "http/gzip.h"

#include <libdeflate.h>

#include <cstddef>
#include <new>

namespace pex::http {
namespace {

constexpr int kLevel = 1;

// The compressed size of metrics text stays below this. Room for the worst case would be larger
// than the text, in each buffer.
constexpr std::size_t kGuess = 4;
constexpr std::size_t kMinRoom = 1024;

}  // namespace

Gzip::Gzip() : compressor_(::libdeflate_alloc_compressor(kLevel)) {
  if (!compressor_) throw std::bad_alloc();
}

void Gzip::Free::operator()(libdeflate_compressor* compressor) const {
  ::libdeflate_free_compressor(compressor);
}

void Gzip::compress(std::string_view text, std::string& compressed) {
  const auto compress_into = [&](std::size_t room) {
    compressed.resize(room);
    return ::libdeflate_gzip_compress(compressor_.get(), text.data(), text.size(),
                                      compressed.data(), room);
  };
  std::size_t filled = compress_into(kMinRoom + text.size() / kGuess);
  if (filled == 0) {
    filled = compress_into(::libdeflate_gzip_compress_bound(compressor_.get(), text.size()));
  }
  compressed.resize(filled);
}

}  // namespace pex::http
