#include "http/request_head.h"

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/none.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace pex::http {
namespace {

namespace wire = boost::beast::http;

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::string_view kEndWithoutReturns = "\n\n";  // nothing that is valid has it

/// All methods are of capital letters. Any other first byte is not HTTP, and need not be waited
/// for.
bool begins_a_method(char byte) { return 'A' <= byte && byte <= 'Z'; }

/// Forms that Beast accepts and other parsers may interpret differently (RFC 9112, 2.2 and 5.2): an
/// empty line before the request, and a field that continues in the next line.
bool is_ambiguous(std::string_view head) {
  return !begins_a_method(head.front()) || head.find("\r\n ") != head.npos ||
         head.find("\r\n\t") != head.npos;
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return ' ' < byte && byte < 0x7f; });
}

/// The letters of a host and port (RFC 3986, 3.2.2 and 3.2.3), without those of a path or user.
bool is_host(std::string_view text) {
  return is_visible(text) && text.find_first_of("\"#/<>?@\\^`{|}") == text.npos;
}

/// What load balancers send where they are configured so: HTTP/2 (RFC 9113, 3.4), and both versions
/// of HAProxy's PROXY protocol.
struct Protocol {
  std::string_view begin;
  std::string_view fault;
};
constexpr std::string_view kProxyProtocol = "a proxy sent the PROXY protocol: disable it there";
constexpr Protocol kProtocols[] = {
    {"PRI * HTTP/2.0\r\n", "this server speaks HTTP/1.1, and not HTTP/2"},
    {"PROXY ", kProxyProtocol},
    {{"\r\n\r\n\0\r\nQUIT\n", 12}, kProxyProtocol},
};

}  // namespace

struct RequestHead::Fields {
  wire::request_parser<wire::empty_body> parser;

  const auto& message() const { return parser.get(); }
};

RequestHead::RequestHead(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}
RequestHead::~RequestHead() = default;

bool RequestHead::take(std::string& received) {
  const std::string_view seen = std::string_view{received}.substr(0, limit_bytes_);
  const std::size_t from = seen_bytes_ - std::min(seen_bytes_, kEndOfHead.size());
  const std::size_t end = seen.find(kEndOfHead, from);
  const bool is_ended_wrongly = seen.find(kEndWithoutReturns, from) < end;
  seen_bytes_ = seen.size();
  for (const Protocol& other : kProtocols) {
    if (seen.starts_with(other.begin)) fault_ = other.fault;
  }
  if (is_ended_wrongly) {
    status_ = 400;
  } else if (end != std::string_view::npos) {
    status_ = parse(seen.substr(0, end + kEndOfHead.size()));
    received.erase(0, end + kEndOfHead.size());
  } else if (!seen.empty() && !begins_a_method(seen.front())) {
    status_ = 400;
  } else if (received.size() > limit_bytes_) {
    status_ = 431;
  }
  return status_ != 0;
}

/// `head` is complete, so Beast either accepts all of it or reports an error.
unsigned RequestHead::parse(std::string_view head) {
  if (is_ambiguous(head)) return 400;
  fields_ = std::make_unique<Fields>();
  auto& parser = fields_->parser;
  parser.header_limit(static_cast<std::uint32_t>(head.size() + 1));
  parser.body_limit(boost::none);  // bodies of any size are refused elsewhere, in one way
  boost::beast::error_code error;
  const std::size_t used = parser.put(boost::asio::buffer(head.data(), head.size()), error);
  return error || used != head.size() || !parser.is_header_done() ? 400 : judge();
}

unsigned RequestHead::judge() {
  // "*" and "host:port" belong to methods that are not supported, and absolute URLs to proxies.
  if (!target().starts_with('/')) return refuse("this is no proxy: the target must be a path");
  if (!is_visible(target())) return 400;
  const std::size_t hosts = count("Host");
  if (hosts > 1 || (version() >= 11 && hosts == 0)) {  // RFC 9112, 3.2: MUST
    return refuse("exactly one Host field is required");
  }
  if (!is_host(value("Host"))) return refuse("the Host field is no host and port");
  if (is_body_announced_twice()) return refuse("the length of the body is given twice, or wrongly");
  if (count("Transfer-Encoding") > 0 || !fields_->parser.is_done()) return 413;
  return 200;
}

unsigned RequestHead::refuse(std::string_view fault) {
  fault_ = fault;
  return 400;
}

/// A proxy may have used the other length (RFC 9112, 11.2), so even two equal ones are refused, as
/// is "0, 0" in one field.
bool RequestHead::is_body_announced_twice() const {
  const std::size_t lengths = count("Content-Length");
  if (lengths == 0) return false;
  return lengths > 1 || count("Transfer-Encoding") > 0 || !parse_unsigned(value("Content-Length"));
}

std::string_view RequestHead::method() const { return fields_->message().method_string(); }
std::string_view RequestHead::target() const { return fields_->message().target(); }
unsigned RequestHead::version() const { return fields_->message().version(); }

/// RFC 9112, 9.3, by all fields of the name: Beast reads only the first one.
bool RequestHead::keep_alive() const {
  const std::string options = value("Connection");
  wire::token_list tokens{options};
  return !tokens.exists("close") && (version() >= 11 || tokens.exists("keep-alive"));
}

std::size_t RequestHead::count(std::string_view name) const {
  return fields_->message().count({name.data(), name.size()});
}

std::string RequestHead::value(std::string_view name) const {
  const auto [begin, end] = fields_->message().equal_range({name.data(), name.size()});
  std::string joined;
  for (auto each = begin; each != end; ++each) {
    if (each != begin) joined += ", ";
    joined.append(each->value().data(), each->value().size());
  }
  return joined;
}

}  // namespace pex::http
