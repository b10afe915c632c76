#include "access/web_tls.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "access/tls_names.h"
#include "base/lookup.h"
#include "yaml/keys.h"

namespace pex::access {
namespace {

constexpr std::size_t kMaxSans = 256;
constexpr std::size_t kMaxSanBytes = 2048;
constexpr std::string_view kPemBegin = "-----BEGIN ";

/// A setting that is given as a file or as a text, with the positions of both.
struct ParsedPem {
  Pem pem = {};
  std::optional<yaml::Value> as_text = {};
  std::optional<yaml::Value> as_file = {};

  bool is_given() const { return as_text || as_file; }
};

/// The keys that have been read, with the positions of those that others may contradict.
struct ParsedTls {
  const std::string& directory;
  TlsSettings tls = {};
  ParsedPem certificate = {};
  ParsedPem key = {};
  ParsedPem client_ca = {};
  std::optional<yaml::Value> client_auth = {};
  std::optional<yaml::Value> client_allowed_sans = {};
  std::optional<yaml::Value> max_version = {};
  std::optional<yaml::Value> cipher_suites = {};  ///< if all of them are of TLS 1.3
  bool knows_all_words = true;                    ///< else their combination cannot be checked
};

constexpr yaml::Expected kPem = {
    "a text in the PEM format",
    "write '|' after the colon, and the text from -----BEGIN to the end of its last line below "
    "it, indented"};
constexpr yaml::Expected kPemFile = {"the name of a file",
                                     "write one, for example /etc/ssl/web.pem"};

template <ParsedPem ParsedTls::*pem_member>
void read_pem(const yaml::Value& value, ParsedTls& parsed) {
  (parsed.*pem_member).as_text = value;
  std::optional<std::string> text = value.lines(kPem);
  if (!text) return;
  const std::size_t begin = text->find(kPemBegin);
  if (begin == text->npos) {
    return value.refuse(
        "this is not a text in the PEM format",
        fmt::format("{}; the name of a file belongs to the key that ends in _file", kPem.remedy));
  }
  if (text->find('\n', begin) == text->npos) {
    return value.refuse("this text has lost its line breaks", std::string(kPem.remedy));
  }
  (parsed.*pem_member).pem.text = std::move(*text);
}

template <ParsedPem ParsedTls::*pem_member>
void read_pem_file(const yaml::Value& value, ParsedTls& parsed) {
  (parsed.*pem_member).as_file = value;
  const std::optional<std::string> text = value.lines(kPemFile);
  if (!text) return;
  if (text->find(kPemBegin) != text->npos) {
    return value.refuse("this is a text in the PEM format, not the name of a file",
                        "write it as the value of the key without _file");
  }
  if (!value.text(kPemFile)) return;
  if (text->empty()) {
    return value.refuse("the name is empty", fmt::format("{}, or remove the key", kPemFile.remedy));
  }
  (parsed.*pem_member).pem.file = std::filesystem::path(parsed.directory) / *text;
}

template <typename T>
void read_known(const yaml::Value& value, std::span<const yaml::Word<T>> table,
                const yaml::Expected& expected, ParsedTls& parsed, T& target) {
  const auto* found = yaml::read_entry<yaml::Word<T>>(value, table, expected.what, expected);
  if (found == nullptr) parsed.knows_all_words = false;
  if (found != nullptr) target = found->value;
}

constexpr yaml::Word<ClientCertificate> kClientAuths[] = {
    {"NoClientCert", ClientCertificate::kNone},
    {"RequestClientCert", ClientCertificate::kRequested},
    {"RequireAnyClientCert", ClientCertificate::kAny},
    {"RequireClientCert", ClientCertificate::kAny},  // the legacy spelling
    {"VerifyClientCertIfGiven", ClientCertificate::kVerifiedIfGiven},
    {"RequireAndVerifyClientCert", ClientCertificate::kRequiredAndVerified},
};
constexpr yaml::Expected kClientAuth = {
    "a policy for clients",
    "write NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or "
    "RequireAndVerifyClientCert"};

void read_client_auth(const yaml::Value& value, ParsedTls& parsed) {
  parsed.client_auth = value;
  read_known<ClientCertificate>(value, kClientAuths, kClientAuth, parsed,
                                parsed.tls.client_certificate);
}

constexpr yaml::Word<TlsVersion> kVersions[] = {{"TLS10", TlsVersion::kTls10},
                                                {"TLS11", TlsVersion::kTls11},
                                                {"TLS12", TlsVersion::kTls12},
                                                {"TLS13", TlsVersion::kTls13}};
constexpr yaml::Expected kVersion = {"a version of TLS", "write TLS10, TLS11, TLS12 or TLS13"};

template <TlsVersion TlsSettings::*version>
void read_version(const yaml::Value& value, ParsedTls& parsed) {
  read_known<TlsVersion>(value, kVersions, kVersion, parsed, parsed.tls.*version);
}

void read_san(const yaml::Value& value, std::vector<std::string>& sans) {
  constexpr yaml::Expected kSan = {"a name in certificates",
                                   "write a DNS name, an IP or mail address or a URI"};
  const std::optional<std::string> san = value.text(kSan);
  if (!san) return;
  if (san->empty() || san->size() > kMaxSanBytes) {
    return value.refuse(fmt::format("a name of {} bytes", san->size()),
                        fmt::format("{} of at most {} bytes", kSan.remedy, kMaxSanBytes));
  }
  sans.push_back(*san);
}

void read_sans(const yaml::Value& value, ParsedTls& parsed) {
  parsed.client_allowed_sans = value;
  const auto items = value.items("names", kMaxSans,
                                 {"a list of names", "write a list, for example [client.example]"});
  if (!items) return;
  if (items->empty())
    return value.refuse("no name: every client would be refused", "list one, or remove the key");
  for (const yaml::Value& item : *items) read_san(item, parsed.tls.client_allowed_sans);
}

constexpr yaml::Key<ParsedTls> kTlsKeys[] = {
    {"cert", read_pem<&ParsedTls::certificate>},
    {"key", read_pem<&ParsedTls::key>},
    {"client_ca", read_pem<&ParsedTls::client_ca>},
    {"cert_file", read_pem_file<&ParsedTls::certificate>},
    {"key_file", read_pem_file<&ParsedTls::key>},
    {"client_ca_file", read_pem_file<&ParsedTls::client_ca>},
    {"client_auth_type", read_client_auth},
    {"client_allowed_sans", read_sans},
    {"min_version", read_version<&TlsSettings::min_version>},
    {"max_version",
     [](const yaml::Value& value, ParsedTls& parsed) {
       parsed.max_version = value;
       read_version<&TlsSettings::max_version>(value, parsed);
     }},
    {"cipher_suites",
     [](const yaml::Value& value, ParsedTls& parsed) {
       if (read_ciphers(value, parsed.tls.ciphers)) parsed.cipher_suites = value;
     }},
    {"prefer_server_cipher_suites",
     [](const yaml::Value& value, ParsedTls& parsed) {
       yaml::assign(parsed.tls.prefer_server_ciphers, read_flag(value));
     }},
    {"curve_preferences",
     [](const yaml::Value& value, ParsedTls& parsed) { read_curves(value, parsed.tls.curves); }},
};

struct PemEntry {
  ParsedPem ParsedTls::*parsed;
  std::string_view key;  ///< the other key ends in _file
};
constexpr PemEntry kPems[] = {{&ParsedTls::certificate, "cert"},
                              {&ParsedTls::key, "key"},
                              {&ParsedTls::client_ca, "client_ca"}};

void refuse_both_forms(const ParsedTls& parsed) {
  for (const PemEntry& entry : kPems) {
    const ParsedPem& pem = parsed.*entry.parsed;
    if (!pem.as_text || !pem.as_file) continue;
    const std::string_view key = entry.key;
    pem.as_file->refuse(fmt::format("there is {} as well", key),
                        fmt::format("keep one of {0} and {0}_file", key));
  }
}

/// The exporter-toolkit enables TLS if one of these keys is set.
bool wants_tls(const ParsedTls& parsed) {
  return parsed.certificate.is_given() || parsed.key.is_given() || parsed.client_ca.is_given() ||
         parsed.client_auth;
}

void require_certificate_and_key(const yaml::Value& value, const ParsedTls& parsed) {
  if (!parsed.certificate.is_given()) {
    value.refuse("there is no certificate", "add 'cert_file: ' and its name");
  }
  if (!parsed.key.is_given()) value.refuse("there is no key", "add 'key_file: ' and its name");
}

void check_clients(const ParsedTls& parsed) {
  const ClientCertificate policy = parsed.tls.client_certificate;
  if (verifies_clients(policy) && !parsed.client_ca.is_given()) {
    parsed.client_auth->warn(
        "without client_ca_file, a certificate of any authority that this system trusts will do");
  }
  if (policy == ClientCertificate::kNone && parsed.client_ca.is_given()) {
    const ParsedPem& ca = parsed.client_ca;
    (ca.as_file ? ca.as_file : ca.as_text)
        ->refuse("no client is asked for a certificate",
                 "add 'client_auth_type: RequireAndVerifyClientCert', or remove this");
  }
  if (parsed.client_allowed_sans && policy != ClientCertificate::kRequiredAndVerified) {
    parsed.client_allowed_sans->refuse("names are checked only if every client is verified",
                                       "write 'client_auth_type: RequireAndVerifyClientCert'");
  }
}

void refuse_contradictions_about_versions(const ParsedTls& parsed) {
  const TlsSettings& tls = parsed.tls;
  if (tls.min_version > tls.max_version) {
    parsed.max_version->refuse("max_version is below min_version",
                               "lower min_version as well, which is TLS12 unless it is written");
  }
  if (parsed.cipher_suites && tls.min_version < TlsVersion::kTls13) {
    parsed.cipher_suites->refuse("all of these are of TLS 1.3, so there is none for TLS 1.2",
                                 "add some for it, or write 'min_version: TLS13'");
  }
}

void give_pems(ParsedTls& parsed) {
  parsed.tls.certificate = std::move(parsed.certificate.pem);
  parsed.tls.key = std::move(parsed.key.pem);
  parsed.tls.client_ca = std::move(parsed.client_ca.pem);
}

}  // namespace

std::optional<TlsSettings> read_tls(const yaml::Value& value, const std::string& directory) {
  ParsedTls parsed{directory};
  if (!yaml::read_map<ParsedTls>(value, kTlsKeys, parsed, yaml::Blank::kDefault)) return {};
  if (parsed.knows_all_words) {
    check_clients(parsed);
    refuse_contradictions_about_versions(parsed);
  }
  if (!wants_tls(parsed)) {
    value.warn("without a certificate, plain HTTP is served");
    return {};
  }
  refuse_both_forms(parsed);
  require_certificate_and_key(value, parsed);
  give_pems(parsed);
  return std::move(parsed.tls);
}

std::string_view word_of(ClientCertificate policy) {
  return lookup(kClientAuths, &yaml::Word<ClientCertificate>::value, policy)->word;
}

std::string_view word_of(TlsVersion version) {
  return lookup(kVersions, &yaml::Word<TlsVersion>::value, version)->word;
}

}  // namespace pex::access
