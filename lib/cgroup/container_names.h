#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cgroup/file_stamp.h"

namespace pex::cgroup {

/// What an engine or an operator calls a container. Either may be empty.
struct ContainerName {
  std::string container;
  std::string image;

  bool operator==(const ContainerName&) const = default;
};

/// A directory or a file with names of containers.
struct ContainerNameSource {
  std::string path;
  bool is_optional = false;  ///< no error if it is not there, or must not be read
};

/// The names of containers by their ids, from files of container engines:
/// - Docker: DIRECTORY/ID/config.v2.json (moby/moby, daemon/container/container.go)
/// - Podman: DIRECTORY/DRIVER-containers/containers.json, and volatile-containers.json of those
///   started with --rm (containers/storage, containers.go; Podman's metadata in it)
/// - a file of an operator, YAML or JSON: `ID: {container: NAME, image: IMAGE}`
/// No socket is needed, and no engine has to run. A source is read again when it has changed, at
/// most once a second; whether a container of Docker was renamed, once a minute. If several sources
/// name one container, the first does. Not thread-safe.
class ContainerNames {
 public:
  using Clock = std::chrono::steady_clock;
  using Source = ContainerNameSource;

  static constexpr std::size_t kMaxContainers = 10'000;  ///< of one source
  static constexpr std::size_t kMaxBytes = 1024 * 1024;  ///< of one file

  explicit ContainerNames(std::vector<Source> sources) : sources_(std::move(sources)) {}

  const std::vector<Source>& sources() const { return sources_; }

  struct Update {
    bool has_changed = false;
    std::optional<Error> error = {};  ///< the first of those that last
  };
  Update update(Clock::time_point now);

  /// By the 64 digits of an id; a file may have the first 12 of them. Null if it is not known.
  /// Valid until the next update().
  const ContainerName* find(std::string_view id) const;

 private:
  using Names = std::map<std::string, ContainerName, std::less<>>;
  struct OfContainer {
    FileStamp stamp;
    ContainerName name;
  };
  struct State {
    std::optional<FileStamp> stamp;
    std::vector<std::string> paths = {};                ///< of files with names, none for Docker
    std::map<std::string, FileStamp> files = {};        ///< those that are there
    std::map<std::string, OfContainer> of_docker = {};  ///< by id
    Names names = {};
    std::optional<Error> error = {};
    bool is_incomplete = false;  ///< a container of Docker has no file yet
    int looks_left = 0;          ///< for that
  };

  static bool read(const Source& source, bool is_minute, State& state);
  bool merge();
  static void read_docker(const std::string& directory, State& state);
  static void read_files(bool are_of_storage, State& state);
  static void add(const std::string& id, ContainerName name, Names& names);

  std::vector<Source> sources_;
  std::vector<State> states_;  ///< as sources_
  Names names_;
  std::optional<Clock::time_point> updated_;
  std::optional<Clock::time_point> looked_at_all_;
};

}  // namespace pex::cgroup
