#include "bench/poll/bare_answer.h"

#include <boost/beast/http.hpp>
#include <utility>

namespace pex::bench {

namespace asio = boost::asio;
namespace beast = boost::beast;

BareAnswer::BareAnswer(std::function<std::string()> render)
    : render_(std::move(render)),
      context_(1),
      acceptor_(context_, {asio::ip::address_v4::loopback(), 0}) {}

void BareAnswer::serve() {
  if (!client_) client_ = acceptor_.accept();
  beast::http::request<beast::http::empty_body> request;
  beast::http::read(*client_, received_, request);
  beast::http::response<beast::http::string_body> response;
  response.set(beast::http::field::content_type, "text/plain; version=0.0.4");
  response.set(beast::http::field::content_encoding, "gzip");
  gzip_.compress(render_(), response.body());
  response.prepare_payload();
  beast::http::write(*client_, response);
}

}  // namespace pex::bench
