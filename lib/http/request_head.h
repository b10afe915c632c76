#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace pex::http {

/// Parses one request head (request line and fields) from a client's bytes. Knows no sockets.
class RequestHead {
 public:
  /// A head of more than `limit_bytes` is refused.
  explicit RequestHead(std::size_t limit_bytes);
  ~RequestHead();

  /// Takes the head from the front of `received` once it is complete; the rest is left for the next
  /// one. Until then `received` may only grow between two calls. Returns true once status() is
  /// known. Must not be called again after that.
  bool take(std::string& received);

  /// 200 if the request may be answered, else the status of the refusal: 400, 413 or 431.
  unsigned status() const { return status_; }
  /// Why it is 400, if more is known than that this is no request: a sentence without a full stop.
  std::string_view fault() const { return fault_; }

  /// Whether the head itself could be read: status() is 200 or 413.
  bool is_known() const { return status_ == 200 || status_ == 413; }

  /// Only if is_known(). The views are valid as long as this object.
  std::string_view method() const;
  std::string_view target() const;  ///< begins with '/'
  unsigned version() const;         ///< 10 or 11
  bool keep_alive() const;

  /// The number of fields with this name, in any case.
  std::size_t count(std::string_view name) const;
  /// The values of all of them, joined with ", " (RFC 9110, 5.2); empty for none.
  std::string value(std::string_view name) const;

 private:
  struct Fields;  // Beast is slow to compile, and stays in one file

  unsigned parse(std::string_view head);
  unsigned judge();
  unsigned refuse(std::string_view fault);
  bool is_body_announced_twice() const;

  std::size_t limit_bytes_;
  std::size_t seen_bytes_ = 0;  ///< of the front of `received`
  unsigned status_ = 0;
  std::string_view fault_;
  std::unique_ptr<Fields> fields_;
};

}  // namespace pex::http
