#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "http/server.h"

namespace pex::http {

/// The bodies that clients have not read yet, each counted once however many clients it goes to.
/// Slow clients would otherwise each hold another version of the text.
class UnsentBodies {
 public:
  explicit UnsentBodies(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// A body is about to be sent. While the limit is exceeded, the client with the longest transfer
  /// of another body is dropped: `drop` is called, at most once and not from within this call for
  /// `body` itself.
  std::uint64_t begin(const Body& body, std::function<void()> drop);

  /// The body was read, or will not be. The client may have been dropped.
  void end(std::uint64_t sending);

  /// Memory of the bodies, including unused capacity.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    const std::string* body;
    std::function<void()> drop;
  };
  struct Held {
    std::size_t clients = 0;
    std::size_t bytes = 0;  ///< as counted: the body may be gone by the end
  };
  using Sendings = std::map<std::uint64_t, Entry>;  ///< the longest transfer first

  void forget(Sendings::iterator sending);

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 0;
  Sendings sendings_;
  std::map<const std::string*, Held> held_;
};

/// A body that one client is reading, for the lifetime of this object.
class Sending {
 public:
  Sending(std::shared_ptr<UnsentBodies> unsent, const Body& body, std::function<void()> drop)
      : unsent_(std::move(unsent)), number_(unsent_->begin(body, std::move(drop))) {}
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;
  ~Sending() { unsent_->end(number_); }

 private:
  std::shared_ptr<UnsentBodies> unsent_;
  std::uint64_t number_;
};

}  // namespace pex::http
