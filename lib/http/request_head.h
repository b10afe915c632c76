#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstddef>
#include <string_view>

namespace pex::http {

/// Reads one request head (request line and fields) out of what a client sends. Knows no sockets.
class RequestHead {
 public:
  /// A head of more than `limit_bytes` is refused.
  explicit RequestHead(std::size_t limit_bytes);

  /// Takes what belongs to this head from the front of `received`; what follows is left there for
  /// the next one. True once status() is known. Must not be called again after that.
  bool take(boost::beast::flat_buffer& received);

  /// 200 when the request may be answered, else what to refuse it with: 400, 413 or 431.
  unsigned status() const { return status_; }

  /// Only while status() is 200. The views end with this object.
  std::string_view method() const { return fields().method_string(); }
  std::string_view target() const { return fields().target(); }
  unsigned version() const { return fields().version(); }  ///< 10 or 11
  bool keep_alive() const { return fields().keep_alive(); }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::empty_body>;

  const Parser::value_type& fields() const { return parser_.get(); }
  unsigned judge() const;

  std::size_t limit_bytes_;
  std::size_t taken_bytes_ = 0;
  unsigned status_ = 0;
  Parser parser_;
};

}  // namespace pex::http
