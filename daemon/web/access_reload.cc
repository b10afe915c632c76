#include "daemon/web/access_reload.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "access/web_config.h"
#include "daemon/web/exposed_file.h"

namespace pex::daemon {
namespace {

/// Much longer than a shortage of descriptors usually lasts, and often enough to report it.
constexpr std::chrono::seconds kRetryAfter{10};

/// Whether a system call failed for a reason that no change of a file removes: no free descriptor,
/// or no memory.
bool may_pass(const std::vector<Error>& errors) {
  return std::any_of(errors.begin(), errors.end(), [](const Error& error) {
    return error.code == EINTR || is_shortage(error.code);
  });
}

void stamp_files_of(const access::TlsSettings& tls, FileFingerprints& stamps) {
  for (const access::Pem* each : {&tls.certificate, &tls.key, &tls.client_ca}) {
    if (!each->file.empty()) stamps.add(each->file);
  }
}

/// Passwords can be guessed from their hashes.
bool holds_secrets(const access::AccessSettings& settings) {
  return !settings.users.empty() || (settings.tls && !settings.tls->key.text.empty());
}

void warn_if_exposed(const std::string& what, const std::string& file,
                     std::vector<yaml::Diagnostic>& warnings) {
  if (!is_readable_by_all(file)) return;
  warnings.push_back(yaml::warning(
      what + " '" + file + "' can be read by every user of this machine",
      "chmod o-r " + file +
          "; a Kubernetes secret needs 'defaultMode: 0440' and the pod an 'fsGroup'"));
}

void warn_of_exposed_files(const std::string& file, const access::AccessSettings& settings,
                           std::vector<yaml::Diagnostic>& warnings) {
  if (holds_secrets(settings)) warn_if_exposed("the web configuration", file, warnings);
  if (settings.tls && !settings.tls->key.file.empty()) {
    warn_if_exposed("the key", settings.tls->key.file, warnings);
  }
}

bool opens_any(const std::vector<access::Downgrade>& downgrades) {
  return std::any_of(downgrades.begin(), downgrades.end(),
                     [](const access::Downgrade& each) { return each.opens; });
}

/// What the file lacks of what is required.
std::vector<Error> lacking(const std::string& file, const std::vector<std::string>& required,
                           const access::AccessSettings& settings) {
  std::vector<Error> errors;
  for (const access::Requirement& each : access::requirable()) {
    const bool is_required =
        std::find(required.begin(), required.end(), each.name) != required.end();
    if (!is_required || each.is_met(settings)) continue;
    errors.push_back({0,
                      "the web configuration '" + file +
                          "' does not meet --web.require=" + std::string(each.name),
                      "restore '" + std::string(each.key) + "' in the file"});
  }
  return errors;
}

yaml::Diagnostic needless_downgrade_flag(const std::string& file) {
  return yaml::warning(
      "the web configuration '" + file +
          "' contains 'allow_downgrade: true', although it removes no protection",
      "remove the key: while it is there, a truncated file can switch off TLS or logins");
}

yaml::Diagnostic no_protection_warning(const std::string& file) {
  return yaml::warning(
      "the web configuration '" + file +
          "' has neither TLS nor users: anyone who can connect to this server can read all metrics "
          "over plain HTTP",
      "add tls_server_config and basic_auth_users, or leave out --web.config.file");
}

}  // namespace

/// The result of reading the file and those that it names. Fingerprints are taken before reading,
/// so that a change in between is noticed.
struct AccessReload::Reading {
  FileFingerprints stamps;
  Result<std::shared_ptr<const access::Access>, std::vector<Error>> access = access::open_access();
  bool allows_downgrade = false;
  std::vector<yaml::Diagnostic> warnings;
};

AccessReload::Reading AccessReload::read(const std::string& file,
                                         const std::vector<std::string>& required) {
  Reading reading;
  reading.stamps.add(file);
  Result<access::LoadedWebConfig> loaded = access::load_web_config_file(file);
  if (!loaded) {
    reading.access = std::vector{loaded.error()};
    return reading;
  }
  access::AccessSettings& settings = loaded->config.access;
  if (settings.tls) stamp_files_of(*settings.tls, reading.stamps);
  if (loaded->diagnostics.has_errors()) {
    std::vector<Error> errors = yaml::errors_of(loaded->diagnostics.errors());
    for (Error& each : access::unreadable_files(settings)) errors.push_back(std::move(each));
    reading.access = std::move(errors);
    return reading;
  }
  if (std::vector<Error> errors = lacking(file, required, settings); !errors.empty()) {
    reading.access = std::move(errors);
    return reading;
  }
  reading.allows_downgrade = loaded->config.allow_downgrade;
  reading.warnings = loaded->diagnostics.warnings();
  warn_of_exposed_files(file, settings, reading.warnings);
  if (std::vector<Error> unreadable = access::unreadable_files(settings); !unreadable.empty()) {
    reading.access = std::move(unreadable);
    return reading;
  }
  auto access = access::make_access(std::move(settings));
  if (access) {
    reading.access = *std::move(access);
  } else {
    reading.access = std::vector{access.error()};
  }
  return reading;
}

Result<AccessReload, std::vector<Error>> AccessReload::load(
    const std::string& file, std::vector<std::string> required,
    std::vector<yaml::Diagnostic>& warnings) {
  Reading reading = read(file, required);
  if (!reading.access) return reading.access.error();
  warnings = std::move(reading.warnings);
  const access::AccessSettings& settings = (*reading.access)->settings();
  if (!settings.tls && settings.users.empty()) {
    warnings.push_back(no_protection_warning(file));
  }
  if (reading.allows_downgrade) warnings.push_back(needless_downgrade_flag(file));
  AccessReload access;
  access.file_ = file;
  access.required_ = std::move(required);
  access.stamps_ = std::move(reading.stamps);
  access.access_ = *std::move(reading.access);
  access.renamed_files();
  return access;
}

/// Of those that were read, which are those of an earlier reading also where they have been
/// replaced.
std::vector<Error> AccessReload::renamed_files() {
  std::vector<Error> errors;
  for (const std::string& path : stamps_.paths()) {
    const auto [known, is_new] = mounts_.try_emplace(path);
    if (is_new) known->second = host::mount_of_file({}, path);
    if (auto renamed = host::renamed_since(known->second, {}, path, "the file")) {
      errors.push_back(*std::move(renamed));
    }
  }
  return errors;
}

std::shared_ptr<const access::Access> AccessReload::current(const OnReload& on_reload,
                                                            const Moment& now) {
  if (has_file()) check(on_reload, now);
  return access_;
}

/// A file may change, or name other files, while it is read: then the next check decides.
void AccessReload::check(const OnReload& on_reload, const Moment& now) {
  const FileFingerprints seen = (pending_ ? pending_->stamps : stamps_).again();
  const bool retries = retry_at_ && now.steady >= *retry_at_;
  const bool was_reported = pending_ && pending_->is_reported;  // no longer true
  if (seen == stamps_ && !retries && !was_reported) return pending_.reset();
  if (!has_stood_still(seen, now)) return report_unstable(on_reload, now);
  Reading reading = read(file_, required_);
  const bool is_whole = reading.stamps == reading.stamps.again();
  if (!is_whole || !has_stood_still(reading.stamps, now)) return report_unstable(on_reload, now);
  decide(std::move(reading), on_reload, now);
}

/// By the clock of the files, so that an old change holds at once; or, if that clock is ahead of
/// ours or a file does not exist, by our own.
bool AccessReload::has_stood_still(const FileFingerprints& seen, const Moment& now) {
  if (!pending_) pending_ = Pending{seen, now.steady, now.steady};
  if (pending_->stamps != seen) {
    pending_->stamps = seen;
    pending_->since = now.steady;
  }
  return seen.are_older_than(now.at - kStandsStill) || now.steady - pending_->since >= kStandsStill;
}

void AccessReload::report_unstable(const OnReload& on_reload, const Moment& now) {
  if (pending_->is_reported || now.steady - pending_->first < kReportUnstableAfter) return;
  pending_->is_reported = true;
  Reload reload;
  reload.errors = {{0,
                    "the web configuration '" + file_ +
                        "', or a file that it names, has kept changing for a minute, so it is "
                        "not read",
                    "find out which program writes to it; the file is read once it has not "
                    "changed for one second"}};
  on_reload(reload);
}

void AccessReload::decide(Reading reading, const OnReload& on_reload, const Moment& now) {
  pending_.reset();
  retry_at_.reset();
  stamps_ = std::move(reading.stamps);
  if (!reading.access && may_pass(reading.access.error())) retry_at_ = now.steady + kRetryAfter;
  on_reload(decide(reading));
}

/// A change is compared with the configuration in force, so that no sequence of small steps
/// achieves what one step may not.
AccessReload::Reload AccessReload::decide(Reading& reading) {
  Reload reload;
  if (!reading.access) {
    reload.errors = std::move(reading.access.error());
    return reload;
  }
  reload.errors = renamed_files();
  if (!reload.errors.empty()) return reload;
  reload.downgrades = access::downgrades(access_->settings(), (*reading.access)->settings());
  const bool opens = opens_any(reload.downgrades);
  if (opens && !reading.allows_downgrade) {
    std::erase_if(reload.downgrades, [](const access::Downgrade& each) { return !each.opens; });
    return reload;
  }
  reload.is_adopted = true;
  reload.warnings = std::move(reading.warnings);
  if (reading.allows_downgrade && !opens) reload.warnings.push_back(needless_downgrade_flag(file_));
  access_ = *std::move(reading.access);
  return reload;
}

}  // namespace pex::daemon
