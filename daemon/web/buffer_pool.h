#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pex::daemon {

/// Memory for rendered texts, which is used again once no client and no cache has it any more: a
/// text of megabytes for each scrape would be as many page faults. Everything on the loop's thread
/// but filling, which whoever has taken a buffer does alone.
class BufferPool {
 public:
  using Buffer = std::shared_ptr<std::string>;

  /// One that nobody else has; it holds what was in it last.
  Buffer take() {
    for (const Buffer& buffer : buffers_) {
      if (buffer.use_count() == 1) return buffer;
    }
    return buffers_.emplace_back(std::make_shared<std::string>());
  }

  /// Keeps at most `most` of those that are not in use.
  void trim(std::size_t most) {
    std::size_t free = 0;
    std::erase_if(buffers_,
                  [&](const Buffer& buffer) { return buffer.use_count() == 1 && ++free > most; });
  }

 private:
  std::vector<Buffer> buffers_;
};

}  // namespace pex::daemon
