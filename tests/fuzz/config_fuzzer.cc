#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "access/web_config.h"
#include "config/load.h"

namespace {

/// Not assert: it must hold in an optimized build too.
void require(bool holds) {
  if (!holds) std::abort();
}

bool is_one_line(std::string_view text) {
  return text.find_first_of("\n\r\v\f\x1b") == std::string_view::npos;
}

/// Each of them is one line that starts with the name, and not too long a one.
void require_that_they_point(const std::vector<pex::yaml::Diagnostic>& errors,
                             const std::string& name) {
  for (const pex::yaml::Diagnostic& error : errors) {
    const std::string said = describe(error);
    require(said.starts_with(name + ":"));
    require(is_one_line(said));
    require(said.size() < 1000);
    require(!error.remedy.empty());
  }
}

void require_that_it_can_be_used(const pex::access::AccessSettings& config) {
  require(!config.tls || (!config.tls->certificate.empty() && !config.tls->key.empty()));
  require(!config.rate_limit ||
          (config.rate_limit->interval.count() > 0 && config.rate_limit->burst > 0));
  for (const auto& [name, hash] : config.users) require(!name.empty() && hash.size() == 60);
  for (const auto& [name, value] : config.headers) require(is_one_line(name + value));
}

}  // namespace

/// Any text gives a configuration or errors, whichever of the two kinds of file it is taken for;
/// an exception that leaves the call ends the run by itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string name = "fuzz.yaml";
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  const pex::config::Loaded loaded = pex::config::load_text(text, name);
  require(!loaded.config.groups.empty() || loaded.diagnostics.has_errors());
  require_that_they_point(loaded.diagnostics.errors(), name);

  const pex::access::LoadedWebConfig web = pex::access::load_web_config_text(text, name);
  require_that_they_point(web.diagnostics.errors(), name);
  for (const pex::yaml::Diagnostic& warning : web.diagnostics.warnings()) {
    require(is_one_line(describe(warning)));
  }
  if (!web.diagnostics.has_errors()) require_that_it_can_be_used(web.config.access);
  return 0;
}
