#pragma once

#include <boost/asio/io_context.hpp>
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
#include "config/config.h"
#include "daemon/cli/options.h"
#include "daemon/log/logging.h"
#include "daemon/web/access_reload.h"
#include "daemon/web/access_status.h"
#include "daemon/web/connection_limit_log.h"
#include "daemon/web/file_thread.h"
#include "daemon/web/repeated.h"
#include "daemon/web/routes.h"
#include "daemon/web/scrape_cache.h"
#include "daemon/web/scrape_intervals.h"
#include "daemon/web/served_times.h"
#include "exposition/collected_family.h"
#include "http/server.h"

namespace pex::daemon {

/// Serves everything over HTTP, with access control. On the loop's thread, except a worker that
/// renders and compresses, and one that checks passwords. Collects the server's metrics about its
/// clients.
class WebServer final : public prometheus::Collectable {
 public:
  /// What is served. Called on the loop's thread.
  struct Source {
    ScrapeCache::Source scrapes;
    std::function<std::set<std::string, std::less<>>()> groups;  ///< those a scrape may select
    RouteHandlers routes;                                        ///< all but the scrape
  };

  /// References outlive it, as does what `source` refers to.
  WebServer(boost::asio::io_context& loop, const Options& options, Source source, Log& log);
  ~WebServer() override;

  /// Serves on the addresses of the options and on `inherited` sockets, which it then owns. Fails
  /// with the first address that cannot be bound.
  /// Probes have a server of their own: neither its clients nor its access rules are those of the
  /// other one.
  Result<void, std::vector<Error>> listen(const std::vector<int>& inherited);

  /// Reads the web configuration before listen(), which reads it otherwise. Fails with all of its
  /// errors.
  Result<void, std::vector<Error>> load_access();

  /// Uses the scrape settings of `config` from now on.
  void configure(const config::Config& config);

  /// A poll has ended.
  void polled() { scrapes_.polled(); }

  std::vector<std::uint16_t> ports() const { return server_->ports(); }
  /// Of --web.health-address; 0 for a unix socket, and without it.
  std::uint16_t health_port() const { return probes_ ? probes_->ports().front() : 0; }
  const AccessStatus& access_status() const { return access_status_; }

  /// A warning of each configured time that is too short for the clients (ServedTimes).
  std::vector<Error> too_short_times() const;

  std::vector<prometheus::MetricFamily> Collect() const override;

  /// Lets the loop run out of work.
  void stop();

 private:
  std::vector<http::Route> routes();
  void answer_scrape(const http::Request& request, http::Respond respond);
  void note_scrape(const http::Request& request);
  void look_at_access();
  std::function<void(const access::Peer&, std::string_view)> refusal_log();
  Result<> listen_for_probes();
  void log_listening(const std::vector<int>& inherited);
  void warn_of_open_lifecycle();

  boost::asio::io_context& loop_;
  const Options& options_;
  Source source_;
  Log& log_;
  config::OpenMetrics openmetrics_;
  ScrapeIntervals scrape_intervals_;
  ServedTimes served_times_;
  boost::asio::thread_pool worker_{1};        ///< renders
  boost::asio::thread_pool login_worker_{1};  ///< checks passwords: guessing must not delay scrapes
  ScrapeCache scrapes_;
  std::shared_ptr<AccessReload> access_reload_;  ///< null without a file; of the file thread
  FileThread access_files_;
  Repeated access_looks_;
  std::shared_ptr<const access::Access> access_ = access::open_access();  ///< in force
  AccessStatus access_status_;
  ConnectionLimitLog limit_log_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Server> probes_;  ///< null without --web.health-address
};

}  // namespace pex::daemon
