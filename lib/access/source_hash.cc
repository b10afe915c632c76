#include "access/source_hash.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace pex::access {

std::string source_hash(std::string_view text) {
  std::array<unsigned char, 32> digest{};
  if (::EVP_Digest(text.data(), text.size(), digest.data(), nullptr, ::EVP_sha256(), nullptr) !=
      1) {
    throw std::runtime_error("OpenSSL has no SHA-256");
  }
  std::array<unsigned char, 4 * ((digest.size() + 2) / 3) + 1> base64{};  // with a 0 at its end
  const int length = ::EVP_EncodeBlock(base64.data(), digest.data(), digest.size());
  return "'sha256-" + std::string(base64.begin(), base64.begin() + length) + "'";
}

}  // namespace pex::access
