#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "access/login.h"
#include "daemon/web/scrape_query.h"
#include "fuzz/fuzzing.h"
#include "http/answer.h"
#include "http/negotiation.h"
#include "http/request_head.h"
#include "http/same_origin.h"

namespace {

using pex::fuzz::require;
using pex::http::RequestHead;

constexpr std::size_t kLimit = 512;

bool is_visible_ascii(std::string_view text) {
  for (const char byte : text) {
    if (byte <= ' ' || byte >= 0x7f) return false;
  }
  return true;
}

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view{"\0\r\n", 3}) == std::string_view::npos;
}

/// What every head that may be answered is like.
void check_good(const RequestHead& head) {
  require(head.version() == 10 || head.version() == 11);
  require(head.count("Host") == 1 || (head.version() == 10 && head.count("Host") == 0));
  require(head.count("Transfer-Encoding") == 0);
  require(head.count("Content-Length") <= 1);
  require(head.value("Content-Length").find_first_not_of('0') == std::string::npos);
  require(is_visible_ascii(head.target()) && head.target().front() == '/');
  require(is_visible_ascii(head.method()) && !head.method().empty());
  for (const char* const name : {"Host", "Accept", "Accept-Encoding", "Authorization", "A"}) {
    require(is_one_line(head.value(name)));
  }
}

const std::vector<pex::http::Route>& routes() {
  static const std::vector<pex::http::Route> all = [] {
    const auto nothing = [](const pex::http::Request&) { return pex::http::Response{}; };
    std::vector<pex::http::Route> made{pex::http::immediate("/", nothing),
                                       pex::http::immediate("/metrics", nothing),
                                       pex::http::immediate("/-/reload", nothing)};
    made.back().is_post = true;
    return made;
  }();
  return all;
}

/// A selection of what there is, or one line without what the client has sent.
void check_selection(std::string_view query) {
  static const std::set<std::string, std::less<>> known{"core", "cache", "exporter"};
  const auto selection = pex::daemon::selection_of(query, known);
  if (!selection) {
    require(is_one_line(describe(selection.error())));
    return;
  }
  for (const std::string& group : selection->groups) require(known.contains(group));
}

/// The steps a connection takes from a good head to its answer.
void check_answer(const RequestHead& head) {
  const pex::http::Request request = pex::http::request_of(head, "192.0.2.7");
  require(request.path.find('?') == std::string::npos);
  require(head.target().starts_with(request.path));
  require(request.path.size() + request.query.size() <= head.target().size());

  const pex::http::Route* const route = pex::http::find_route(routes(), request.path);
  require(route == nullptr || route->path == request.path);
  if (route != nullptr && !pex::http::takes_method(*route, head.method())) {
    require(pex::http::wrong_method(*route).status == 405);
  }

  const auto credentials = pex::access::parse_credentials(head.value("Authorization"));
  require(!credentials || credentials->user.find(':') == std::string::npos);

  constexpr std::array kOffers{pex::http::Offer{"application/openmetrics-text", "1.0.0"},
                               pex::http::Offer{"text/plain", "0.0.4"}};
  require(pex::http::best_offer(request.accept, kOffers) < kOffers.size());
  for (const std::string& value : pex::http::query_values(request.query, "collect[]")) {
    require(value.size() <= request.query.size());
  }
  check_selection(request.query);
  const bool says_nothing = head.count("Origin") == 0 && head.count("Sec-Fetch-Site") == 0;
  require(!pex::http::is_of_another_site(head) || !says_nothing);
}

struct Outcome {
  std::vector<unsigned> statuses;
  std::string rest;  ///< not taken

  bool operator==(const Outcome&) const = default;
};

/// All requests of one client whose bytes come in pieces of `piece` bytes.
Outcome outcome_of(std::string_view bytes, std::size_t piece) {
  Outcome outcome;
  auto head = std::make_unique<RequestHead>(kLimit);
  std::string received;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    received += bytes.substr(at, piece);
    while (!received.empty() && head->take(received)) {
      outcome.statuses.push_back(head->status());
      if (head->status() != 200) return outcome;  // closed: whatever follows is not looked at
      check_good(*head);
      check_answer(*head);
      head = std::make_unique<RequestHead>(kLimit);
    }
  }
  outcome.rest = received;
  return outcome;
}

}  // namespace

/// Any bytes give requests that may be answered or a refusal, and the same ones however they
/// arrive. The first byte is how many come at a time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = pex::fuzz::text_of(data + 1, size - 1);

  const Outcome whole = outcome_of(bytes, bytes.size() + 1);

  for (const unsigned status : whole.statuses) {
    require(status == 200 || status == 400 || status == 413 || status == 431);
  }
  require(outcome_of(bytes, 1) == whole);
  require(outcome_of(bytes, data[0] + std::size_t{1}) == whole);
  return 0;
}
