#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "daemon/status/status.h"
#include "daemon/web/access_reload.h"
#include "daemon/web/scrape_cache.h"
#include "exposition/self_metrics.h"
#include "http/server.h"

namespace pex::daemon {

/// Everything that is served over HTTP: which path shows what of the program, and to whom. On the
/// loop's thread, but for a worker that renders and compresses, and one that checks passwords.
class WebServer {
 public:
  /// With everything that is wrong with the configuration, if anything is.
  using ReloadAnswer = std::function<void(const Result<void, std::vector<Error>>& reloaded)>;

  /// What there is to be shown. Called on the loop's thread.
  struct Source {
    ScrapeCache::Source scrapes;
    std::function<std::set<std::string, std::less<>>()> groups;  ///< that a scrape may choose from
    std::function<Status()> status;
    std::function<bool()> is_healthy;
    std::function<bool()> is_ready;
    /// Has the configuration read again. False: it comes too soon after the last time.
    std::function<bool(ReloadAnswer answer)> reload;
    std::chrono::seconds between_reloads{1};  ///< of clients
  };

  /// References outlive it, and what `source` looks at.
  WebServer(boost::asio::io_context& loop, const Options& options, Source source,
            exposition::SelfMetrics& self_metrics, Log& log);
  ~WebServer();

  /// Serves on the addresses of the options and on `inherited` sockets, which it then owns. Fails
  /// with everything that is wrong with the web configuration, or the first address that cannot be
  /// had.
  Result<void, std::vector<Error>> listen(const std::vector<int>& inherited);

  /// How old counts may be, and whether counters tell since when they count.
  void configure(std::chrono::nanoseconds max_age, bool created);

  /// A poll has ended.
  void polled() { scrapes_.polled(); }

  std::vector<std::uint16_t> ports() const { return server_->ports(); }

  /// How the last load of the web configuration went; nothing without such a file.
  const std::optional<WebConfigurationLoad>& configuration() const { return load_; }

  /// Brings what the server knows of its clients into the exporter's own metrics.
  void tell_of_clients();

  /// Lets the loop run out of work.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<http::Route> routes();
  http::Route reload();
  void answer_scrape(const http::Request& request, http::Respond respond);
  Result<void, std::vector<Error>> load_access();
  std::shared_ptr<const access::Access> current_access();
  void warn_of_open_lifecycle();
  void on_connection_limit();
  void log_connection_limit(const http::Server::Share& busiest);
  void on_access_reload(const AccessReload::Reload& reload);
  void on_access_adopted(const std::vector<std::string>& downgrades);

  boost::asio::io_context& loop_;
  const Options& options_;
  Source source_;
  exposition::SelfMetrics& self_metrics_;
  Log& log_;
  bool created_ = false;
  boost::asio::thread_pool worker_{1};        ///< renders
  boost::asio::thread_pool login_worker_{1};  ///< checks passwords: guessing must not delay scrapes
  ScrapeCache scrapes_;
  AccessReload access_;
  std::optional<WebConfigurationLoad> load_;
  boost::asio::steady_timer limit_log_timer_;  ///< until on_connection_limit() is logged
  Clock::time_point limit_logged_at_ = {};
  bool is_limit_log_pending_ = false;
  http::ClientErrors logged_errors_;  ///< as of the last such line
  std::unique_ptr<http::Server> server_;
};

}  // namespace pex::daemon
