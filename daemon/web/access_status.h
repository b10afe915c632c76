#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/log/logging.h"
#include "daemon/status/status.h"
#include "daemon/web/access_reload.h"
#include "exposition/collected_family.h"

namespace pex::daemon {

/// What a client needs, for the log: scheme=https client_auth_type=NoClientCert login=required.
LogFields access_fields(const access::AccessSettings& in_force);

/// The results of loading the web configuration: for the log, the status and the exporter's own
/// metrics. Nothing is shown without such a file.
class AccessStatus final : public prometheus::Collectable {
 public:
  /// `log` outlives it.
  explicit AccessStatus(Log& log) : log_(log) {}

  /// The program starts with `file`.
  void start(const std::string& file, const access::AccessSettings& in_force);
  /// The file, or one that it names, has changed; `in_force` is the result.
  void add(const AccessReload::Reload& reload, const access::AccessSettings& in_force);

  /// Nothing without a file.
  const std::optional<WebConfigurationLoad>& load() const { return load_; }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  void adopt(const access::AccessSettings& in_force, std::vector<std::string> downgrades);
  void reject(const AccessReload::Reload& reload, std::vector<std::string> downgrades);

  Log& log_;
  std::optional<WebConfigurationLoad> load_;
  /// Changes that reduced a protection, by protection and outcome.
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> downgrades_;
};

}  // namespace pex::daemon
