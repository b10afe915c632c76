#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/load.h"

namespace {

/// Not assert: it must hold in an optimized build too.
void require(bool holds) {
  if (!holds) std::abort();
}

bool is_one_line(std::string_view text) {
  return text.find_first_of("\n\r\v\f\x1b") == std::string_view::npos;
}

}  // namespace

/// Any text gives a configuration or mistakes, each of them one line that starts with the name;
/// an exception that leaves load_text ends the run by itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string name = "fuzz.yaml";
  const std::string_view text(reinterpret_cast<const char*>(data), size);

  const pex::config::Loaded loaded = pex::config::load_text(text, name);

  require(!loaded.config.groups.empty() || !loaded.mistakes.empty());
  for (const pex::Error& error : loaded.mistakes) {
    const std::string said = pex::describe(error);
    require(said.starts_with(name + ":"));
    require(is_one_line(said));
    require(said.size() < 1000);
    require(!error.remedy.empty());
  }
  return 0;
}
