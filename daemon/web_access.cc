#include "daemon/web_access.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "config/web_config.h"

namespace pex::daemon {
namespace {

using config::WebConfig;

http::Pem pem_of(const config::FileOrText& source) { return {source.file, source.text}; }

http::ClientCertificate client_certificate_of(config::ClientAuth auth) {
  switch (auth) {
    case config::ClientAuth::kNoClientCert:
      break;
    case config::ClientAuth::kRequestClientCert:
      return http::ClientCertificate::kRequested;
    case config::ClientAuth::kRequireAnyClientCert:
      return http::ClientCertificate::kAny;
    case config::ClientAuth::kVerifyClientCertIfGiven:
      return http::ClientCertificate::kVerifiedIfGiven;
    case config::ClientAuth::kRequireAndVerifyClientCert:
      return http::ClientCertificate::kRequiredAndVerified;
  }
  return http::ClientCertificate::kNone;
}

http::TlsVersion version_of(config::TlsVersion version) {
  switch (version) {
    case config::TlsVersion::kTls10:
      return http::TlsVersion::kTls10;
    case config::TlsVersion::kTls11:
      return http::TlsVersion::kTls11;
    case config::TlsVersion::kTls12:
      return http::TlsVersion::kTls12;
    case config::TlsVersion::kTls13:
      break;
  }
  return http::TlsVersion::kTls13;
}

http::TlsSettings settings_of(const config::WebTls& tls) {
  return {.certificate = pem_of(tls.certificate),
          .key = pem_of(tls.key),
          .client_ca = pem_of(tls.client_ca),
          .client_certificate = client_certificate_of(tls.client_auth),
          .client_allowed_sans = tls.client_allowed_sans,
          .min_version = version_of(tls.min_version),
          .max_version = version_of(tls.max_version),
          .ciphers = tls.ciphers,
          .curves = tls.curves,
          .prefer_server_ciphers = tls.prefer_server_ciphers};
}

http::AccessSettings settings_of(const WebConfig& config) {
  http::AccessSettings settings;
  settings.users = config.users;
  settings.headers = config.headers;
  if (config.tls) settings.tls = settings_of(*config.tls);
  if (config.rate_limit && config.rate_limit->interval.count() > 0) {
    settings.rate_limit = {config.rate_limit->interval, config.rate_limit->burst};
  }
  return settings;
}

/// What one reading of the file, and of those that it names, gave. Each is stamped before it is
/// read, so that a change in between is seen the next time.
struct Reading {
  FileStamps stamps;
  Result<std::shared_ptr<const http::Access>, std::vector<Error>> access = http::open_access();
  std::vector<std::string> remarks;
};

/// Much longer than a shortage of descriptors takes to pass, and as often as anybody wants to be
/// told.
constexpr std::chrono::seconds kRetryAfter{10};

/// Whether a system call failed for a reason that no change of a file ends: a lack of descriptors.
bool may_pass(const std::vector<Error>& errors) {
  return std::any_of(errors.begin(), errors.end(),
                     [](const Error& error) { return error.code != 0 && error.code != ENOENT; });
}

void stamp_files_of(const config::WebTls& tls, FileStamps& stamps) {
  for (const config::FileOrText* each : {&tls.certificate, &tls.key, &tls.client_ca}) {
    if (!each->file.empty()) stamps.add(each->file);
  }
}

Reading read(const std::string& file) {
  Reading reading;
  reading.stamps.add(file);
  config::LoadedWebConfig loaded = config::load_web_config_file(file);
  if (!loaded.mistakes.empty()) {
    reading.access = std::move(loaded.mistakes);
    return reading;
  }
  if (loaded.config.tls) stamp_files_of(*loaded.config.tls, reading.stamps);
  reading.remarks = std::move(loaded.config.remarks);
  auto access = http::make_access(settings_of(loaded.config));
  if (access) {
    reading.access = *std::move(access);
  } else {
    reading.access = std::vector{access.error()};
  }
  return reading;
}

}  // namespace

Result<WebAccess, std::vector<Error>> WebAccess::load(const std::string& file,
                                                      std::vector<std::string>& remarks) {
  Reading reading = read(file);
  if (!reading.access) return reading.access.error();
  remarks = std::move(reading.remarks);
  WebAccess access;
  access.file_ = file;
  access.stamps_ = std::move(reading.stamps);
  access.access_ = *std::move(reading.access);
  return access;
}

std::shared_ptr<const http::Access> WebAccess::current(const OnReload& on_reload,
                                                       Clock::time_point now) {
  const bool retries = retry_at_ && now >= *retry_at_;
  if (!has_file() || (!retries && !stamps_.have_changed())) return access_;
  Reading reading = read(file_);
  stamps_ = std::move(reading.stamps);
  retry_at_.reset();
  if (reading.access) {
    access_ = *std::move(reading.access);
    on_reload(Outcome{}, reading.remarks);
  } else {
    if (may_pass(reading.access.error())) retry_at_ = now + kRetryAfter;
    on_reload(reading.access.error(), {});
  }
  return access_;
}

}  // namespace pex::daemon
