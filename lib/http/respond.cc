#include "http/respond.h"

#include <exception>
#include <utility>

#include "http/answer.h"

namespace pex::http {
namespace {

/// One request that a handler is answering; shared by all copies of its Respond.
class PendingAnswer {
 public:
  explicit PendingAnswer(std::weak_ptr<AsyncValue<Response>> answer) : answer_(std::move(answer)) {}
  PendingAnswer(const PendingAnswer&) = delete;
  PendingAnswer& operator=(const PendingAnswer&) = delete;
  ~PendingAnswer() {
    if (!is_answered_) give(handler_failed("the handler did not answer"));
  }

  void give(Response response) {
    if (std::exchange(is_answered_, true)) return;
    if (const auto answer = answer_.lock()) answer->set(std::move(response));
  }

 private:
  std::weak_ptr<AsyncValue<Response>> answer_;
  bool is_answered_ = false;
};

}  // namespace

void ask(const Route& route, const Request& request,
         const std::shared_ptr<AsyncValue<Response>>& answer) {
  const auto pending = std::make_shared<PendingAnswer>(answer);
  try {
    route.handler(request, [pending](Response response) { pending->give(std::move(response)); });
  } catch (const std::exception& error) {
    pending->give(handler_failed(error.what()));
  } catch (...) {
    pending->give(handler_failed("unknown"));
  }
}

}  // namespace pex::http
