#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "yaml/reference.h"

namespace pex::config {

/// A file or, in its place, what it would hold.
struct FileOrText {
  std::string file;  ///< relative ones are beside the web configuration, which is put in front here
  std::string text;

  bool empty() const { return file.empty() && text.empty(); }
};

/// The names are those of Go's crypto/tls, which the file is written in.
enum class ClientAuth {
  kNoClientCert,
  kRequestClientCert,
  kRequireAnyClientCert,
  kVerifyClientCertIfGiven,
  kRequireAndVerifyClientCert,
};

enum class TlsVersion { kTls10, kTls11, kTls12, kTls13 };

struct WebTls {
  FileOrText certificate;
  FileOrText key;
  FileOrText client_ca;
  ClientAuth client_auth = ClientAuth::kNoClientCert;
  std::vector<std::string> client_allowed_sans;  ///< only with kRequireAndVerifyClientCert
  TlsVersion min_version = TlsVersion::kTls12;
  TlsVersion max_version = TlsVersion::kTls13;
  std::vector<std::string> ciphers;  ///< as OpenSSL names them, of TLS 1.2 and before
  std::vector<std::string> curves;   ///< as OpenSSL names them
  bool prefer_server_ciphers = true;
};

struct WebRateLimit {
  std::chrono::nanoseconds interval{};  ///< of one request; above 0, up to 1h
  unsigned burst = 0;                   ///< requests at once; 1 to 1000000
};

/// The web configuration file of the Prometheus exporters (prometheus/exporter-toolkit,
/// docs/web-configuration.md), with the same keys: who may scrape, and over what. Checked values.
struct WebConfig {
  std::optional<WebTls> tls;
  std::map<std::string, std::string> users;                  ///< name -> bcrypt hash
  std::vector<std::pair<std::string, std::string>> headers;  ///< of every response
  std::optional<WebRateLimit> rate_limit;                    ///< nothing: no limit
  /// A running server may adopt it although it opens what was shut (see web_protections.h). Known
  /// to this exporter alone.
  bool allow_downgrade = false;
  /// What is taken and makes no difference here, for the log: `file:line:column: key: why`.
  std::vector<std::string> remarks;
};

/// Everything that is wrong with the file is told at once, with its position.
struct LoadedWebConfig {
  WebConfig config;
  std::vector<Error> mistakes;  ///< when there is one, `config` is not to be used
};
LoadedWebConfig load_web_config_file(const std::string& path);
LoadedWebConfig load_web_config_text(std::string_view text, const std::string& name);

/// The names of all keys, and the maps that they stand in.
std::vector<yaml::KeyReference> web_configuration_keys();

}  // namespace pex::config
