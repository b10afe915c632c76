#include "daemon/web/access_status.h"

#include <chrono>

#include "access/web_tls.h"
#include "base/boot_clock.h"
#include "daemon/cli/words.h"
#include "exposition/collected_family.h"
#include "exposition/self_families.h"

namespace pex::daemon {
namespace {

using exposition::add_sample;
using exposition::collected;
using exposition::self_family;
using prometheus::MetricFamily;

// The outcome of a downgrade, as the label of a metric.
constexpr std::string_view kAdopted = "adopted";
constexpr std::string_view kRefused = "refused";

Error adopted_downgrade(const access::Downgrade& downgrade) {
  return {0, "the web configuration now protects less: " + describe(downgrade),
          "if this was not intended, restore it in the file"};
}

Error refused_downgrade(const access::Downgrade& downgrade) {
  return {0,
          "the web configuration is not adopted, because it would open the server: " +
              describe(downgrade),
          "restore it in the file; or, if the change is intended, restart the exporter or add "
          "'allow_downgrade: true' as the last line of the file"};
}

}  // namespace

LogFields access_fields(const access::AccessSettings& in_force) {
  LogFields fields = {{"scheme", in_force.tls ? "https" : "http"}};
  if (in_force.tls) {
    fields.emplace_back("client_auth_type", access::word_of(in_force.tls->client_certificate));
  }
  fields.emplace_back("login", !in_force.users.empty() ? "required" : "none");
  return fields;
}

/// Every possible downgrade is a series from the start, so that the first one is an increase from
/// 0.
void AccessStatus::start(const std::string& file, const access::AccessSettings& in_force) {
  load_.emplace().load.file = file;
  for (const access::ProtectionState& each : access::states_of(in_force)) {
    downgrades_[{each.protection, kAdopted}] = 0;
    if (each.opens) downgrades_[{each.protection, kRefused}] = 0;
  }
  adopt(in_force, {});
}

void AccessStatus::add(const AccessReload::Reload& reload, const access::AccessSettings& in_force) {
  std::vector<std::string> downgrades;
  for (const access::Downgrade& each : reload.downgrades) {
    const Error warning = reload.is_adopted ? adopted_downgrade(each) : refused_downgrade(each);
    ++downgrades_[{each.protection, reload.is_adopted ? kAdopted : kRefused}];
    log_.warn(warning, {{"protection", std::string(each.protection)}});
    downgrades.push_back(worded(warning));
  }
  for (const yaml::Diagnostic& warning : reload.warnings) log_.warn(error_of(warning));
  for (const Error& error : reload.errors) log_.error(error);
  reload.is_adopted ? adopt(in_force, std::move(downgrades))
                    : reject(reload, std::move(downgrades));
  if (reload.is_adopted) {
    return log_.info("web configuration reloaded", access_fields(in_force));
  }
  log_.error("web configuration not reloaded: the previous one stays in force");
}

void AccessStatus::adopt(const access::AccessSettings& in_force,
                         std::vector<std::string> downgrades) {
  load_->load.in_force_since = load_->load.last_tried = BootClock::now();
  load_->load.errors.clear();
  load_->protections = access::states_of(in_force);
  load_->downgrades = std::move(downgrades);
}

void AccessStatus::reject(const AccessReload::Reload& reload, std::vector<std::string> downgrades) {
  load_->load.last_tried = BootClock::now();
  load_->load.errors = std::move(downgrades);
  for (const Error& error : reload.errors) load_->load.errors.push_back(worded(error));
}

std::vector<MetricFamily> AccessStatus::Collect() const {
  if (!load_) return {};
  MetricFamily downgrades =
      collected(self_family("perf_event_exporter_web_config_downgrades_total"));
  for (const auto& [downgrade, changes] : downgrades_) {
    add_sample(downgrades, {{"outcome", downgrade.second}, {"protection", downgrade.first}},
               static_cast<double>(changes));
  }
  return {collected(self_family("perf_event_exporter_web_config_last_reload_successful"),
                    load_->load.errors.empty() ? 1 : 0),
          std::move(downgrades)};
}

}  // namespace pex::daemon
