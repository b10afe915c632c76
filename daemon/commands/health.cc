#include "daemon/commands/health.h"

#include <cerrno>
#include <chrono>
#include <iostream>
#include <optional>
#include <string_view>

#include "base/lookup.h"
#include "base/small_file.h"
#include "base/utf8.h"
#include "daemon/cli/standard_output.h"
#include "daemon/cli/version.h"
#include "host/command_line.h"
#include "http/fetch.h"
#include "yaml/plain_text.h"

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

Result<http::Fetched> fetch(const http::Destination& server, const char* path,
                            std::chrono::milliseconds timeout) {
  Result<http::Fetched> answer = http::fetch(server, path, timeout);
  if (answer) return answer;
  const RemedyEntry* const entry = lookup(kRemedies, &RemedyEntry::code, answer.error().code);
  if (entry != nullptr) answer.error().remedy = entry->remedy;
  return answer;
}

/// By the alerts of TLS 1.3 and 1.2.
bool is_for_want_of_certificate(const Error& refused) {
  return refused.attempted.find("certificate required") != std::string::npos ||
         refused.attempted.find("handshake failure") != std::string::npos;
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

/// With a web configuration most servers speak TLS, so that is tried first. The file is not read:
/// its file system may not answer, and a server that did not adopt its last change speaks
/// otherwise.
Result<http::Fetched> ask(const Options& target, const char* path) {
  using Clock = std::chrono::steady_clock;
  if (!target.health_address.empty()) {
    return fetch({target.health_address, false}, path, kAnswerTimeout);
  }
  const std::string& address = target.listen_addresses.front();
  if (target.web_config_file.empty()) return fetch({address, false}, path, kAnswerTimeout);
  const Clock::time_point deadline = Clock::now() + kAnswerTimeout;
  Result<http::Fetched> answer = fetch({address, true}, path, kAnswerTimeout);
  if (!may_speak_otherwise(answer)) return answer;
  const auto left = std::chrono::floor<std::chrono::milliseconds>(deadline - Clock::now());
  if (left.count() <= 0) return answer;
  Result<http::Fetched> plain = fetch({address, false}, path, left);
  if (!may_speak_otherwise(plain)) return plain;
  if (!answer && is_for_want_of_certificate(answer.error())) {
    return needs_health_address(answer.error());
  }
  return answer;
}

/// The exporter answers a probe with 200 and `yes`, or with 503 and the reason; and plain HTTP in
/// place of TLS with 400. Empty, or how the answer differs from that.
std::string difference_of(const http::Fetched& answer, const std::string& yes) {
  if (answer.status == kHttpOk) {
    const std::string text = without_final_newline(answer.body);
    return text == yes ? "" : "is " + yaml::in_quotes(text) + ", and not '" + yes + "'";
  }
  if (answer.status == kHttpUnavailable) return {};
  return "has status " + std::to_string(answer.status) + ", and not 200 or 503";
}

Error answered_by_another(const Options& target, const std::string& path,
                          const std::string& difference) {
  const std::string& address =
      target.health_address.empty() ? target.listen_addresses.front() : target.health_address;
  return {0, "ask " + address + " for " + path + ": the answer " + difference,
          std::string("check that no other program has this address; ") + kSameOptions};
}

bool says_whom_to_ask(const Options& options) {
  return !options.serves_by_default || !options.web_config_file.empty() ||
         !options.health_address.empty();
}

}  // namespace

Options health_target(const Options& options, const std::vector<host::CommandLine>& exporters) {
  if (says_whom_to_ask(options)) return options;
  std::vector<Options> servers;
  for (const host::CommandLine& exporter : exporters) {
    std::vector<const char*> words;
    words.reserve(exporter.size());
    for (const std::string& word : exporter) words.push_back(word.c_str());
    const auto parsed = parse_command_line(static_cast<int>(words.size()), words.data());
    const Options* const target = std::get_if<Options>(&parsed);
    if (target == nullptr || !serves(*target)) continue;
    if (target->listen_addresses.empty() && target->health_address.empty()) continue;
    servers.push_back(*target);
  }
  return servers.size() == 1 ? servers.front() : options;
}

ExitStatus check_health(const Options& options) {
  const Options target = says_whom_to_ask(options)
                             ? options
                             : health_target(options, host::command_lines_of(kProgram));
  if (target.listen_addresses.empty() && target.health_address.empty()) {
    return fail({0, "query health: only systemd knows the address of the server",
                 "set --web.listen-address to one of its addresses"});
  }
  const std::string yes = options.readiness ? "ready" : "healthy";
  const std::string path = "/-/" + yes;
  const Result<http::Fetched> answer = ask(target, path.c_str());
  if (!answer) return fail(answer.error());
  const std::string difference = difference_of(*answer, yes);
  if (!difference.empty()) return fail(answered_by_another(target, path, difference));
  std::cout << printable(without_final_newline(answer->body)) << '\n';
  return flush_output() && answer->status == kHttpOk ? kOk : kFailed;
}

}  // namespace pex::daemon
