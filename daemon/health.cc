#include "daemon/health.h"

#include <chrono>
#include <iostream>
#include <string_view>

#include "config/web_config.h"
#include "daemon/version.h"
#include "host/first_process.h"
#include "http/fetch.h"

namespace pex::daemon {
namespace {

/// Less than what Docker (30 s) and Kubernetes (1 s, to be raised) have patience for, when it
/// matters: a loop that turns answers within milliseconds.
constexpr std::chrono::seconds kPatience{3};
constexpr unsigned kHttpOk = 200;

/// A file with mistakes does not stop who read it before they were made: then there is TLS most
/// likely, as that is what such a file is for.
bool speaks_tls(const std::string& web_config_file) {
  if (web_config_file.empty()) return false;
  const config::LoadedWebConfig loaded = config::load_web_config_file(web_config_file);
  return !loaded.mistakes.empty() || loaded.config.tls.has_value();
}

bool is_this_program(std::string_view argument) {
  return argument.substr(argument.rfind('/') + 1) == kProgram;
}

ExitStatus tell(const Error& error) {
  std::cerr << kProgram << ": " << describe(error) << '\n';
  return kFailed;
}

}  // namespace

Options health_target(const Options& options, const std::vector<std::string>& first_process) {
  const bool is_told = !options.serves_by_default || !options.web_config_file.empty();
  if (is_told || first_process.empty() || !is_this_program(first_process.front())) return options;
  std::vector<const char*> words;
  words.reserve(first_process.size());
  for (const std::string& word : first_process) words.push_back(word.c_str());
  const auto parsed = parse_command_line(static_cast<int>(words.size()), words.data());
  const Options* const target = std::get_if<Options>(&parsed);
  return target ? *target : options;
}

ExitStatus check_health(const Options& options) {
  const Options target = health_target(options, host::command_line_of_first_process());
  if (target.listen_addresses.empty()) {
    return tell({0, "ask for health: only systemd knows where it listens",
                 "give one of its addresses as --web.listen-address"});
  }
  const http::Destination destination{target.listen_addresses.front(),
                                      speaks_tls(target.web_config_file)};
  const char* const path = options.readiness ? "/-/ready" : "/-/healthy";
  const Result<http::Fetched> answer = http::fetch(destination, path, kPatience);
  if (!answer) return tell(answer.error());
  std::cout << answer->body << std::flush;
  return answer->status == kHttpOk ? kOk : kFailed;
}

}  // namespace pex::daemon
