#include "daemon/commands/health.h"

#include <cerrno>
#include <chrono>
#include <iostream>
#include <optional>
#include <string_view>

#include "access/web_config.h"
#include "base/lookup.h"
#include "base/small_file.h"
#include "base/utf8.h"
#include "daemon/cli/standard_output.h"
#include "daemon/cli/version.h"
#include "daemon/cli/words.h"
#include "host/init_process.h"
#include "http/fetch.h"

namespace pex::daemon {
namespace {

/// Below the probe timeouts of Docker (30 s) and Kubernetes (1 s by default, to be raised). A
/// healthy loop answers within milliseconds.
constexpr std::chrono::seconds kAnswerTimeout{3};
constexpr unsigned kHttpOk = 200;
constexpr unsigned kHttpBadRequest = 400;
constexpr unsigned kHttpUnavailable = 503;

constexpr const char* kSameOptions =
    "set the same --web.listen-address and --web.config.file as the exporter was started with";

/// Why there is no answer although a server may run; any other error is that of a server that does
/// not run.
struct RemedyEntry {
  int code;
  const char* remedy;
};
constexpr RemedyEntry kRemedies[] = {
    {0, kSameOptions},  // it speaks another protocol
    {EACCES, "run this command as a user that may connect to the socket"},
    {EMFILE, "raise the limit of open files of this command: ulimit -n"},
    {ENFILE, "raise fs.file-max"},
    {ENOMEM, "free memory, or raise the limit of the container"},
    {ENOBUFS, "free memory, or raise the limit of the container"},
    {ETIMEDOUT,
     "see the log of the exporter: it hangs or is overloaded; or another program has this address"},
};

/// What the server most likely speaks, by its web configuration.
struct Transport {
  bool tls = false;
  bool needs_certificate = false;  ///< of a client
};

/// A web configuration file with errors does not stop a server that loaded it before. The file most
/// likely configures TLS, as that is its main use.
Transport transport_of(const std::string& web_config_file) {
  if (web_config_file.empty()) return {};
  const Result<access::LoadedWebConfig> loaded = access::load_web_config_file(web_config_file);
  if (!loaded || loaded->diagnostics.has_errors()) return {.tls = true};
  const std::optional<access::TlsSettings>& tls = loaded->config.access.tls;
  if (!tls) return {};
  using access::ClientCertificate;
  const ClientCertificate client = tls->client_certificate;
  return {.tls = true,
          .needs_certificate = client == ClientCertificate::kAny ||
                               client == ClientCertificate::kRequiredAndVerified};
}

Result<http::Fetched> fetch(const http::Destination& server, const char* path,
                            std::chrono::milliseconds timeout) {
  Result<http::Fetched> answer = http::fetch(server, path, timeout);
  if (answer) return answer;
  const RemedyEntry* const entry = lookup(kRemedies, &RemedyEntry::code, answer.error().code);
  if (entry != nullptr) answer.error().remedy = entry->remedy;
  return answer;
}

/// Of a server that refused TLS, and may be healthy.
Error needs_health_address(const Error& refused) {
  return {refused.code, refused.attempted + ", as the server requires client certificates",
          "serve probes on an address of their own: start the server with --web.health-address, "
          "for example 127.0.0.1:10174, and set the same for health"};
}

/// Plain HTTP in place of TLS is answered with 400.
bool may_speak_otherwise(const Result<http::Fetched>& answer) {
  return !answer || answer->status == kHttpBadRequest;
}

/// Tries the transport of the file first, then the other one: the server may still use an older
/// version of the file. A server that refuses to downgrade must not be restarted by a failed probe,
/// as the restart would adopt the downgrade.
Result<http::Fetched> ask(const Options& target, const char* path) {
  using Clock = std::chrono::steady_clock;
  if (!target.health_address.empty()) {
    return fetch({target.health_address, false}, path, kAnswerTimeout);
  }
  const std::string& address = target.listen_addresses.front();
  const auto [tls, needs_certificate] = transport_of(target.web_config_file);
  const Clock::time_point deadline = Clock::now() + kAnswerTimeout;
  Result<http::Fetched> answer = fetch({address, tls}, path, kAnswerTimeout);
  if (target.web_config_file.empty() || !may_speak_otherwise(answer)) return answer;
  const auto left = std::chrono::floor<std::chrono::milliseconds>(deadline - Clock::now());
  if (left.count() <= 0) return answer;
  Result<http::Fetched> otherwise = fetch({address, !tls}, path, left);
  if (!may_speak_otherwise(otherwise)) return otherwise;
  const bool is_refused = !answer && answer.error().code == 0;  // by TLS, not by the kernel
  if (is_refused && needs_certificate) return needs_health_address(answer.error());
  return answer;
}

/// The exporter answers a probe with 200, or with 503 and the reason; and plain HTTP in place of
/// TLS with 400.
Error answered_by_another(const Options& target, const char* path, unsigned status) {
  const std::string& address =
      target.health_address.empty() ? target.listen_addresses.front() : target.health_address;
  return {0,
          "ask " + address + " for " + path + ": the answer has status " + std::to_string(status) +
              ", and not 200 or 503",
          std::string("check that no other program has this address; ") + kSameOptions};
}

bool is_this_program(std::string_view argument) {
  return argument.substr(argument.rfind('/') + 1) == kProgram;
}

ExitStatus fail(const Error& error) {
  std::cerr << kProgram << ": " << printable(worded(error)) << '\n';
  return kFailed;
}

}  // namespace

Options health_target(const Options& options, const std::vector<std::string>& init_process) {
  const bool is_configured = !options.serves_by_default || !options.web_config_file.empty() ||
                             !options.health_address.empty();
  if (is_configured || init_process.empty() || !is_this_program(init_process.front()))
    return options;
  std::vector<const char*> words;
  words.reserve(init_process.size());
  for (const std::string& word : init_process) words.push_back(word.c_str());
  const auto parsed = parse_command_line(static_cast<int>(words.size()), words.data());
  const Options* const target = std::get_if<Options>(&parsed);
  return target ? *target : options;
}

ExitStatus check_health(const Options& options) {
  const Options target = health_target(options, host::command_line_of_init_process());
  if (target.listen_addresses.empty() && target.health_address.empty()) {
    return fail({0, "query health: only systemd knows the address of the server",
                 "set --web.listen-address to one of its addresses"});
  }
  const char* const path = options.readiness ? "/-/ready" : "/-/healthy";
  const Result<http::Fetched> answer = ask(target, path);
  if (!answer) return fail(answer.error());
  if (answer->status != kHttpOk && answer->status != kHttpUnavailable) {
    return fail(answered_by_another(target, path, answer->status));
  }
  std::cout << printable(without_final_newline(answer->body)) << '\n';
  return flush_output() && answer->status == kHttpOk ? kOk : kFailed;
}

}  // namespace pex::daemon
