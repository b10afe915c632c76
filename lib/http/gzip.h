#pragma once

#include <memory>
#include <string>
#include <string_view>

struct libdeflate_compressor;

namespace pex::http {

/// Compresses into the gzip format (RFC 1952), at the level that costs least: of the text of
/// metrics it leaves about a twentieth, and higher levels little less. Its tables are kept from
/// call to call; not thread-safe.
class Gzip {
 public:
  Gzip();

  /// Replaces what `compressed` holds; its memory is used again.
  void compress(std::string_view text, std::string& compressed);

 private:
  struct Free {
    void operator()(libdeflate_compressor* compressor) const;
  };
  std::unique_ptr<libdeflate_compressor, Free> compressor_;
};

}  // namespace pex::http
