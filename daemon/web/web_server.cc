#include "daemon/web/web_server.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/duration.h"
#include "daemon/cli/words.h"
#include "daemon/web/scrape_query.h"
#include "exposition/collected_family.h"
#include "exposition/self_families.h"
#include "host/self_process.h"
#include "http/answer.h"
#include "http/negotiation.h"
#include "targets/budget.h"

namespace pex::daemon {
namespace {

/// Certificates and users are changed without a signal.
constexpr std::chrono::seconds kLooksEvery{1};

/// The formats that a client may choose, with their media types; the last one is the default.
constexpr http::Offer kOffers[] = {{"application/openmetrics-text", "1.0.0"},
                                   {"text/plain", "0.0.4"}};
constexpr exposition::Format kFormats[] = {exposition::Format::kOpenMetrics,
                                           exposition::Format::kText};

/// The number of clients that descriptors are reserved for. Refused clients use some of them, as
/// they may still request health.
http::Limits limits_here() {
  http::Limits limits;
  const std::size_t files = collect::client_files(host::raise_open_file_limit());
  limits.max_refusals = std::min(limits.max_refusals, files / 2);
  limits.max_connections = std::min(limits.max_connections, files - limits.max_refusals);
  return limits;
}

/// For one kubelet, an operator, and a client that should not be there. Their descriptors are a
/// part of those for files of our own.
http::Limits limits_of_probes() {
  http::Limits limits;
  limits.max_connections = limits.max_refusals = 8;
  return limits;
}

}  // namespace

WebServer::WebServer(boost::asio::io_context& loop, const Options& options, Source source, Log& log)
    : loop_(loop),
      options_(options),
      source_(std::move(source)),
      log_(log),
      scrapes_(loop, worker_, source_.scrapes),
      access_files_(
          loop, log, "web files",
          "the web configuration '" + options.web_config_file + "' or of a file that it names"),
      access_looks_(loop, kLooksEvery,
                    [this] {
                      if (!access_files_.is_busy()) look_at_access();
                      return true;
                    }),
      access_status_(log),
      limit_log_(loop, log) {
  scrapes_.set_max_jobs(options.max_queued_scrapes);
}

/// The worker's jobs for the scrapes end before the scrapes do.
WebServer::~WebServer() {
  login_worker_.join();
  worker_.join();
}

Result<void, std::vector<Error>> WebServer::listen(const std::vector<int>& inherited) {
  if (!access_reload_) {
    if (auto loaded = load_access(); !loaded) return loaded;
  }
  auto server = http::Server::listen(loop_, login_worker_, {options_.listen_addresses, inherited},
                                     {.routes = routes(),
                                      .limits = limits_here(),
                                      .access = [this] { return access_; },
                                      .on_refusal = refusal_log(),
                                      .on_connection_limit = [this] { limit_log_.add(*server_); }});
  if (!server) return std::vector{server.error()};
  server_ = std::move(*server);
  if (const Result<> listening = listen_for_probes(); !listening) {
    return std::vector{listening.error()};
  }
  if (access_reload_) access_looks_.start();
  log_listening(inherited);
  warn_of_open_lifecycle();
  return {};
}

std::function<void(const access::Peer&, std::string_view)> WebServer::refusal_log() {
  return [this](const access::Peer& peer, std::string_view why) {
    log_.debug("request refused", {{"peer", peer.text()}, {"reason", std::string(why)}});
  };
}

Result<> WebServer::listen_for_probes() {
  if (options_.health_address.empty()) return {};
  auto probes = http::Server::listen(loop_, login_worker_, {{options_.health_address}, {}},
                                     {.routes = make_probe_routes(source_.routes),
                                      .limits = limits_of_probes(),
                                      .on_refusal = refusal_log()});
  if (!probes) {
    return Error{probes.error().code, probes.error().attempted,
                 probes.error().code == EAFNOSUPPORT
                     ? Remedy("a systemd service may run without a network: set "
                              "--web.health-address=unix:/run/perf_event_exporter/health")
                     : Remedy("set --web.health-address to another address")};
  }
  probes_ = std::move(*probes);
  return {};
}

void WebServer::log_listening(const std::vector<int>& inherited) {
  const auto log_socket = [this](LogFields fields) {
    fields.emplace_back("path", options_.telemetry_path);
    std::ranges::move(access_fields(access_->settings()), std::back_inserter(fields));
    log_.info("listening", fields);
  };
  const std::vector<std::string> ips = server_->ips();
  for (std::size_t i = 0; i < options_.listen_addresses.size(); ++i) {
    LogFields fields = {{"address", options_.listen_addresses[i]}};
    if (!ips[i].empty()) fields.emplace_back("ip", ips[i]);
    fields.emplace_back("port", std::to_string(server_->ports()[i]));
    log_socket(std::move(fields));
  }
  for (const int socket : inherited) log_socket({{"systemd_socket", std::to_string(socket)}});
  if (probes_) {
    log_.info("listening for probes",
              {{"address", options_.health_address}, {"port", std::to_string(health_port())}});
  }
}

/// Any client may then reload the configuration as often as the limit allows.
void WebServer::warn_of_open_lifecycle() {
  if (!options_.lifecycle || !server_->serves_other_machines()) return;
  if (!access::allows_anonymous(*access_)) return;
  log_.warn(
      Error{0,
            "any client that can connect can reload the configuration, because "
            "--web.enable-lifecycle is set and no login is needed",
            "configure basic_auth_users in --web.config.file, or listen on a loopback address "
            "or unix socket"});
}

void WebServer::look_at_access() {
  access_files_.run([this, files = access_reload_]() -> std::function<void()> {
    std::vector<AccessReload::Reload> reloads;
    const auto current = files->current(
        [&](const AccessReload::Reload& reload) { reloads.push_back(reload); }, Moment::now());
    return [this, reloads, current] {
      access_ = current;
      for (const AccessReload::Reload& each : reloads) {
        access_status_.add(each, access_->settings());
      }
    };
  });
}

Result<void, std::vector<Error>> WebServer::load_access() {
  if (options_.web_config_file.empty()) return {};
  std::vector<yaml::Diagnostic> warnings;
  Result<AccessReload, std::vector<Error>> access =
      AccessReload::load(options_.web_config_file, options_.web_required, warnings);
  if (!access) return access.error();
  access_reload_ = std::make_shared<AccessReload>(*std::move(access));
  access_ = access_reload_->access();
  access_status_.start(options_.web_config_file, access_->settings());
  for (const yaml::Diagnostic& warning : warnings) log_.warn(error_of(warning));
  return {};
}

std::vector<http::Route> WebServer::routes() {
  RouteHandlers handlers = source_.routes;
  handlers.scrape = [this](const http::Request& request, http::Respond respond) {
    answer_scrape(request, std::move(respond));
  };
  return make_routes(options_.telemetry_path, options_.lifecycle, handlers);
}

void WebServer::note_scrape(const http::Request& request) {
  scrape_intervals_.add(request.peer + " " + request.query, ScrapeIntervals::Clock::now());
  const auto interval = scrape_intervals_.longest(ScrapeIntervals::Clock::now());
  for (const Error& warning : served_times_.take_too_short(interval)) log_.warn(warning);
}

std::vector<Error> WebServer::too_short_times() const {
  return served_times_.too_short(scrape_intervals_.longest(ScrapeIntervals::Clock::now()));
}

void WebServer::answer_scrape(const http::Request& request, http::Respond respond) {
  note_scrape(request);
  Result<exposition::Selection> selection{exposition::Selection{}};
  if (!request.query.empty()) selection = selection_of(request.query, source_.groups());
  if (!selection) return respond(http::bad_request(worded(selection.error())));
  const exposition::Format format = kFormats[http::best_offer(request.accept, kOffers)];
  scrapes_.answer({format, *selection, openmetrics_.created}, request.takes_gzip,
                  std::move(respond));
}

void WebServer::configure(const config::Config& config) {
  scrapes_.set_max_age(config.collection.max_age);
  openmetrics_ = config.openmetrics;
  served_times_.configure(config);
}

std::vector<prometheus::MetricFamily> WebServer::Collect() const {
  using exposition::self_family;
  if (!server_) return {};
  http::ClientErrors totals = server_->errors();
  if (probes_) {
    for (const auto& each : http::kClientErrors)
      totals.*each.count += probes_->errors().*each.count;
  }
  prometheus::MetricFamily errors =
      exposition::collected(self_family("perf_event_exporter_http_errors_total"));
  for (const auto& each : http::kClientErrors) {
    if (totals.*each.count == 0) continue;
    exposition::add_sample(errors, {{"reason", each.name}},
                           static_cast<double>(totals.*each.count));
  }
  prometheus::MetricFamily interval =
      exposition::collected(self_family("perf_event_exporter_scrape_interval_seconds"));
  if (const auto longest = scrape_intervals_.longest(ScrapeIntervals::Clock::now())) {
    exposition::add_sample(interval, {}, seconds_of(*longest));
  }
  return {std::move(interval), std::move(errors)};
}

void WebServer::stop() {
  access_looks_.stop();
  access_files_.stop();
  limit_log_.stop();
  scrapes_.stop();
  if (server_) server_->stop();
  if (probes_) probes_->stop();
}

}  // namespace pex::daemon
