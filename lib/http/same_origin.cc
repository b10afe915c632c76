#include "http/same_origin.h"

#include <string>
#include <string_view>

#include "base/ascii.h"

namespace pex::http {
namespace {

/// The part after the scheme; empty for an opaque origin ("null").
std::string_view host_of(std::string_view origin) {
  constexpr std::string_view kBehindScheme = "://";
  const std::size_t scheme = origin.find(kBehindScheme);
  return scheme == std::string_view::npos ? "" : origin.substr(scheme + kBehindScheme.size());
}

}  // namespace

bool is_of_another_site(const RequestHead& head) {
  const std::string site = head.value("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") return true;
  if (head.count("Origin") == 0) return false;
  const std::string origin = head.value("Origin");
  const std::string_view host = host_of(origin);
  return host.empty() || !iequals(host, head.value("Host"));
}

}  // namespace pex::http
