#include "http/respond.h"

#include <exception>
#include <utility>

#include "http/answer.h"

namespace pex::http {
namespace {

/// One request that is in the hands of a handler; shared by all copies of its Respond.
class Asked {
 public:
  explicit Asked(std::weak_ptr<Awaited<Response>> answer) : answer_(std::move(answer)) {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    if (!is_answered_) give(handler_failed("the handler did not answer"));
  }

  void give(Response response) {
    if (std::exchange(is_answered_, true)) return;
    if (const auto answer = answer_.lock()) answer->give(std::move(response));
  }

 private:
  std::weak_ptr<Awaited<Response>> answer_;
  bool is_answered_ = false;
};

}  // namespace

void ask(const Route& route, const Request& request,
         const std::shared_ptr<Awaited<Response>>& answer) {
  const auto asked = std::make_shared<Asked>(answer);
  try {
    route.handler(request, [asked](Response response) { asked->give(std::move(response)); });
  } catch (const std::exception& error) {
    asked->give(handler_failed(error.what()));
  } catch (...) {
    asked->give(handler_failed("unknown"));
  }
}

}  // namespace pex::http
