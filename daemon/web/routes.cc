#include "daemon/web/routes.h"

#include <algorithm>
#include <utility>

#include "collect/budget.h"
#include "daemon/cli/words.h"
#include "daemon/status/page_files.h"
#include "daemon/status/status_json.h"
#include "daemon/web/scrape_query.h"
#include "host/self_process.h"
#include "http/answer.h"
#include "http/negotiation.h"

namespace pex::daemon {
namespace {

using http::plain_text;

constexpr std::chrono::seconds kLimitLogDelay{1};
constexpr std::chrono::minutes kLimitLogInterval{1};

/// The formats that a client may choose, and as what it asks for them; the last is for all others.
constexpr http::Offer kOffers[] = {{"application/openmetrics-text", "1.0.0"},
                                   {"text/plain", "0.0.4"}};
constexpr exposition::Format kFormats[] = {exposition::Format::kOpenMetrics,
                                           exposition::Format::kText};

http::Response response_of(std::string content_type, std::string text) {
  http::Response response;
  response.content_type = std::move(content_type);
  response.body = std::make_shared<const std::string>(std::move(text));
  response.headers = {{"Cache-Control", "no-store"}};
  return response;
}

/// Always the same answer, of which every client gets the same bytes.
http::Route page_route(const PageFile& file) {
  http::Response response = response_of(std::string(file.content_type), std::string(file.content));
  response.headers.emplace_back("Content-Security-Policy", kPagePolicy);
  return http::immediate(std::string(file.path),
                         [response](const http::Request&) { return response; });
}

http::Response yes_or_not(bool is_so, const char* yes, const char* no) {
  return is_so ? plain_text(200, yes) : plain_text(503, no);
}

http::Response outcome_of(const Result<void, std::vector<Error>>& reloaded) {
  if (reloaded) return plain_text(200, "configuration reloaded\n");
  std::string text = "the configuration is not reloaded\n";
  for (const Error& mistake : reloaded.error()) text += worded(mistake) + "\n";
  return plain_text(500, std::move(text));
}

/// As many clients as descriptors are kept free for. Those that are refused have their part of
/// them, as they may still ask for health.
http::Limits limits_here() {
  http::Limits limits;
  const std::size_t files = collect::client_files(host::raise_open_file_limit());
  limits.max_refusals = std::min(limits.max_refusals, files / 2);
  limits.max_connections = std::min(limits.max_connections, files - limits.max_refusals);
  return limits;
}

// What became of a downgrade, as the label of a metric.
constexpr std::string_view kAdopted = "adopted";
constexpr std::string_view kRefused = "refused";

Error adopted_downgrade(const config::Downgrade& downgrade) {
  return {0, "the web configuration now protects less: " + describe(downgrade),
          "if this was not intended, restore it in the file"};
}

Error refused_downgrade(const config::Downgrade& downgrade) {
  return {0,
          "the web configuration is not adopted, because it would open the server: " +
              describe(downgrade),
          "restore it in the file; or, if the change is intended, restart the exporter or add "
          "'allow_downgrade: true' as the last line of the file"};
}

/// A probe holds no data, and has no password.
http::Route without_login(http::Route route) {
  route.needs_login = false;
  return route;
}

}  // namespace

WebServer::WebServer(boost::asio::io_context& loop, const Options& options, Source source,
                     exposition::SelfMetrics& self_metrics, Log& log)
    : loop_(loop),
      options_(options),
      source_(std::move(source)),
      self_metrics_(self_metrics),
      log_(log),
      scrapes_(loop, worker_, source_.scrapes),
      limit_log_timer_(loop) {
  scrapes_.set_max_orders(options.max_requests);
}

/// What the worker still does for the scrapes ends before they do.
WebServer::~WebServer() {
  login_worker_.join();
  worker_.join();
}

Result<void, std::vector<Error>> WebServer::listen(const std::vector<int>& inherited) {
  if (const Result<void, std::vector<Error>> loaded = load_access(); !loaded) return loaded;
  auto server = http::Server::listen(loop_, login_worker_, {options_.listen_addresses, inherited},
                                     {routes(), limits_here(), [this] { return current_access(); },
                                      [this] { on_connection_limit(); }});
  if (!server) return std::vector{server.error()};
  server_ = std::move(*server);
  for (std::size_t i = 0; i < options_.listen_addresses.size(); ++i) {
    log_.info("listening", {{"address", options_.listen_addresses[i]},
                            {"port", std::to_string(server_->ports()[i])},
                            {"path", options_.telemetry_path}});
  }
  for (const int socket : inherited) {
    log_.info("listening",
              {{"systemd_socket", std::to_string(socket)}, {"path", options_.telemetry_path}});
  }
  warn_of_open_lifecycle();
  return {};
}

/// Any client may then reload the configuration as often as the limit allows.
void WebServer::warn_of_open_lifecycle() {
  if (!options_.lifecycle || !server_->serves_other_machines()) return;
  if (!access::allows_anonymous(*current_access())) return;
  log_.warn(
      Error{0,
            "any client that can connect can reload the configuration, because "
            "--web.enable-lifecycle is set and no login is needed",
            "configure basic_auth_users in --web.config.file, or listen on a loopback address "
            "or unix socket"});
}

std::shared_ptr<const access::Access> WebServer::current_access() {
  return access_.current([this](const auto& reload) { on_access_reload(reload); }, Moment::now());
}

Result<void, std::vector<Error>> WebServer::load_access() {
  if (options_.web_config_file.empty()) return {};
  std::vector<std::string> remarks;
  Result<AccessReload, std::vector<Error>> access =
      AccessReload::load(options_.web_config_file, remarks);
  if (!access) return access.error();
  access_ = *std::move(access);
  load_.emplace().load.file = options_.web_config_file;
  for (const config::ProtectionState& each : config::states_of(access_.in_force())) {
    self_metrics_.add_web_config_downgrades(each.protection, kAdopted, 0);
    if (each.opens) self_metrics_.add_web_config_downgrades(each.protection, kRefused, 0);
  }
  on_access_adopted({});
  for (const std::string& remark : remarks) log_.warn(remark);
  return {};
}

void WebServer::on_access_adopted(const std::vector<std::string>& downgrades) {
  self_metrics_.set_web_config_loaded(true);
  load_->load.in_force_since = load_->load.last_tried = Moment::now();
  load_->load.errors.clear();
  load_->protections = config::states_of(access_.in_force());
  load_->downgrades = downgrades;
}

void WebServer::on_access_reload(const AccessReload::Reload& reload) {
  std::vector<std::string> downgrades;
  for (const config::Downgrade& each : reload.downgrades) {
    const Error warning = reload.is_adopted ? adopted_downgrade(each) : refused_downgrade(each);
    self_metrics_.add_web_config_downgrades(each.protection,
                                            reload.is_adopted ? kAdopted : kRefused, 1);
    log_.warn(warning, {{"protection", std::string(each.protection)}});
    downgrades.push_back(describe(warning));
  }
  for (const std::string& remark : reload.remarks) log_.warn(remark);
  for (const Error& mistake : reload.mistakes) log_.error(mistake);
  if (reload.is_adopted) {
    on_access_adopted(downgrades);
    return log_.info("web configuration reloaded");
  }
  self_metrics_.set_web_config_loaded(false);
  load_->load.last_tried = Moment::now();
  load_->load.errors = std::move(downgrades);
  for (const Error& mistake : reload.mistakes) load_->load.errors.push_back(worded(mistake));
  log_.error("web configuration not reloaded: the one before stays in force");
}

std::vector<http::Route> WebServer::routes() {
  std::vector<http::Route> routes = {
      http::immediate("/api/v1/status",
                      [this](const http::Request&) {
                        return response_of("application/json", status_json(source_.status()));
                      }),
      {options_.telemetry_path,
       [this](const http::Request& request, http::Respond respond) {
         answer_scrape(request, std::move(respond));
       }},
      without_login(http::immediate("/-/healthy",
                                    [this](const http::Request&) {
                                      return yes_or_not(source_.is_healthy(), "healthy\n",
                                                        "a thread that counts hangs\n");
                                    })),
      without_login(http::immediate("/-/ready", [this](const http::Request&) {
        return yes_or_not(source_.is_ready(), "ready\n",
                          "not ready: the first poll has not ended\n");
      }))};
  for (const PageFile& file : kPageFiles) routes.push_back(page_route(file));
  if (options_.lifecycle) routes.push_back(reload());
  return routes;
}

http::Route WebServer::reload() {
  http::Route route{"/-/reload", [this](const http::Request&, const http::Respond& respond) {
                      const bool is_taken =
                          source_.reload([respond](const Result<void, std::vector<Error>>& of) {
                            respond(outcome_of(of));
                          });
                      if (!is_taken) respond(http::too_many_requests(source_.between_reloads));
                    }};
  route.is_post = true;
  return route;
}

void WebServer::answer_scrape(const http::Request& request, http::Respond respond) {
  const Result<exposition::Selection> selection = selection_of(request.query, source_.groups());
  if (!selection) {
    return respond(plain_text(400, "400 Bad Request: " + worded(selection.error()) + "\n"));
  }
  const exposition::Format format = kFormats[http::best_offer(request.accept, kOffers)];
  scrapes_.answer({format, *selection, created_}, request.takes_gzip, std::move(respond));
}

void WebServer::configure(std::chrono::nanoseconds max_age, bool created) {
  scrapes_.set_max_age(max_age);
  created_ = created;
}

void WebServer::tell_of_clients() {
  if (!server_) return;
  self_metrics_.set_connections(server_->connections());
  const http::ClientErrors troubles = server_->errors();
  for (const http::ClientErrorEntry& row : http::kClientErrors) {
    self_metrics_.set_http_troubles(row.name, troubles.*row.count);
  }
}

/// One line a minute: how many clients were refused or closed since the last one, and who has most
/// connections. It comes after a second, so that the first one has figures as well.
void WebServer::on_connection_limit() {
  if (std::exchange(is_limit_log_pending_, true)) return;
  const auto busiest = server_->busiest_peer();
  limit_logged_at_ = std::max(Clock::now() + kLimitLogDelay, limit_logged_at_ + kLimitLogInterval);
  limit_log_timer_.expires_at(limit_logged_at_);
  limit_log_timer_.async_wait([this, busiest](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    is_limit_log_pending_ = false;
    log_connection_limit(busiest.value_or(http::Server::Share{}));
  });
}

void WebServer::log_connection_limit(const http::Server::Share& busiest) {
  const http::ClientErrors now = server_->errors();
  const auto more = [&](std::uint64_t http::ClientErrors::*count) {
    return std::to_string(now.*count - logged_errors_.*count);
  };
  log_.warn(Error{0,
                  "clients were refused or closed at the limit of connections, or for lack of file "
                  "descriptors",
                  "find out what 'peer' is; if it is legitimate and LimitNOFILE= is below 7680, "
                  "raise it"},
            {{"refused", more(&http::ClientErrors::connection_limit)},
             {"closed_stalled", more(&http::ClientErrors::stalled_closed)},
             {"closed_beyond_share", more(&http::ClientErrors::peer_share)},
             {"peer", busiest.peer},
             {"peer_connections", std::to_string(busiest.connections)}});
  logged_errors_ = now;
}

void WebServer::stop() {
  limit_log_timer_.cancel();
  scrapes_.stop();
  if (server_) server_->stop();
}

}  // namespace pex::daemon
