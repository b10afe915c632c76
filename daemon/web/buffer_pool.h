#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace pex::daemon {

/// Memory for rendered texts, reused once no client and no cache holds it: a new text of megabytes
/// for each scrape would cost as many page faults. Used on the loop's thread; only the holder of a
/// buffer fills it, on any thread.
class BufferPool {
 public:
  using Buffer = std::shared_ptr<std::string>;

  /// A free buffer; it still contains its last text.
  Buffer take() {
    for (const Buffer& buffer : buffers_) {
      if (buffer.use_count() == 1) return buffer;
    }
    return buffers_.emplace_back(std::make_shared<std::string>());
  }

  /// Keeps at most `most` unused buffers.
  void trim(std::size_t most) {
    std::size_t free = 0;
    std::erase_if(buffers_,
                  [&](const Buffer& buffer) { return buffer.use_count() == 1 && ++free > most; });
  }

 private:
  std::vector<Buffer> buffers_;
};

}  // namespace pex::daemon
