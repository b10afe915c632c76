#include <cstddef>
#include <cstdint>
#include <string>

#include "access/web_config.h"
#include "fuzz/diagnostics.h"
#include "fuzz/fuzzing.h"

namespace {

using pex::fuzz::is_one_line;
using pex::fuzz::require;

void require_that_it_can_be_used(const pex::access::AccessSettings& config) {
  require(!config.tls || (!config.tls->certificate.empty() && !config.tls->key.empty()));
  require(!config.rate_limit || config.rate_limit->interval.count() > 0);
  for (const auto& [name, hash] : config.users) require(!name.empty() && hash.size() == 60);
  for (const auto& [name, value] : config.headers) require(is_one_line(name + value));
}

}  // namespace

/// Any text gives a web configuration that protects as it says, or errors.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string name = "fuzz.yaml";

  const auto web = pex::access::load_web_config_text(pex::fuzz::text_of(data, size), name);

  pex::fuzz::require_that_they_point(web.diagnostics.errors(), name);
  for (const pex::yaml::Diagnostic& warning : web.diagnostics.warnings()) {
    require(is_one_line(describe(warning)));
  }
  if (!web.diagnostics.has_errors()) require_that_it_can_be_used(web.config.access);
  return 0;
}
