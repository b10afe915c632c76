#include "cgroup/container_names.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/directory.h"
#include "base/small_file.h"
#include "base/text.h"
#include "cgroup/label_rules.h"
#include "yaml/tree.h"

namespace pex::cgroup {
namespace {

using yaml::Node;

constexpr std::chrono::seconds kBetweenLooks{1};
constexpr std::chrono::minutes kBetweenLooksAtAll{1};
/// So often is a container of Docker looked for whose file is not there yet.
constexpr int kLooksForNew = 60;
constexpr std::size_t kShortId = 12;
constexpr std::size_t kLongId = 64;

constexpr std::string_view kStorage = "-containers";
constexpr const char* kOfStorage[] = {"/containers.json", "/volatile-containers.json"};
constexpr const char* kOfDocker = "/config.v2.json";
constexpr const char* kLines =
    "write lines ID: {container: NAME, image: IMAGE}, with the 12 or 64 digits of an id; "
    "cgroups.labels sets other labels";

bool names_container(std::string_view text) {
  return (text.size() == kShortId || text.size() == kLongId) &&
         std::all_of(text.begin(), text.end(), is_lower_hex_digit);
}

/// The value of `key`; null if `map` is no map, or lacks it.
const Node* value_of(const Node* map, std::string_view key) {
  if (map == nullptr || map->kind != Node::Kind::kMap) return nullptr;
  for (std::size_t i = 0; i + 1 < map->children.size(); i += 2) {
    if (map->children[i].text == key) return &map->children[i + 1];
  }
  return nullptr;
}

std::string text_of(const Node* node) {
  return node == nullptr || node->kind != Node::Kind::kText ? std::string{} : node->text;
}

/// JSON is YAML.
Result<Node> parse(const std::string& text, const std::string& path) {
  yaml::Diagnostics diagnostics;
  std::optional<Node> node = yaml::parse_yaml(text, path, diagnostics);
  if (node) return *std::move(node);
  return Error{0, "the names of containers in '" + path + "' are no YAML or JSON", {}};
}

Result<Node> read_node(const std::string& path) {
  const Result<std::string> text = read_small_file(path, ContainerNames::kMaxBytes);
  if (!text) return text.error();
  return parse(*text, path);
}

/// "/web"
ContainerName name_in_docker(const Node& file) {
  std::string name = text_of(value_of(&file, "Name"));
  if (name.starts_with('/')) name.erase(0, 1);
  return {std::move(name), text_of(value_of(value_of(&file, "Config"), "Image"))};
}

template <typename Add>
void parse_storage(const Node& file, Add add) {
  if (file.kind != Node::Kind::kList) return;
  for (const Node& each : file.children) {
    const Result<Node> metadata = parse(text_of(value_of(&each, "metadata")), {});
    if (!metadata) continue;
    add(text_of(value_of(&each, "id")), ContainerName{text_of(value_of(&*metadata, "name")),
                                                      text_of(value_of(&*metadata, "image-name"))});
  }
}

/// Returns an id or what should be one, of which not all is taken; empty if there is none.
template <typename Add>
std::string parse_map(const Node& file, Add add) {
  std::string odd;
  if (file.kind != Node::Kind::kMap) return text_of(&file);
  for (std::size_t i = 0; i + 1 < file.children.size(); i += 2) {
    const std::string& id = file.children[i].text;
    const Node& names = file.children[i + 1];
    const Node* container = value_of(&names, "container");
    const Node* image = value_of(&names, "image");
    const std::size_t known = (container != nullptr ? 2 : 0) + (image != nullptr ? 2 : 0);
    if (!names_container(id) || known == 0 || names.children.size() > known) odd = id;
    add(id, ContainerName{text_of(container), text_of(image)});
  }
  return odd;
}

/// Of Podman: of each storage driver, and apart those of containers that are removed at their end.
std::vector<std::string> files_of_storage(const std::string& directory) {
  std::vector<std::string> files;
  const Result<std::vector<std::string>> names =
      list_directory(directory, ContainerNames::kMaxContainers);
  for (const std::string& name : names ? *names : std::vector<std::string>{}) {
    if (!name.ends_with(kStorage)) continue;
    for (const char* file : kOfStorage) files.push_back(directory + "/" + name + file);
  }
  return files;
}

bool is_absence(int code) { return code == ENOENT || code == EACCES || code == ENOTDIR; }

Error cannot_read(const std::string& path, int code) {
  return {code, "read the names of containers in '" + path + "'",
          code == EACCES ? "let " + ProgramTerm::kProgram +
                               "'s user read it, or write the names to a file that it may read"
                         : Remedy("correct cgroups.container_names")};
}

}  // namespace

/// One that is too long for a label stays too long.
void ContainerNames::add(const std::string& id, ContainerName name, Names& names) {
  for (std::string* each : {&name.container, &name.image}) {
    each->resize(std::min(each->size(), kMaxLabelBytes + 1));
  }
  const bool has_any = !name.container.empty() || !name.image.empty();
  if (names_container(id) && has_any && names.size() < kMaxContainers)
    names.emplace(id, std::move(name));
}

void ContainerNames::read_files(bool are_of_storage, State& state) {
  Names names;
  const auto take = [&](const std::string& id, ContainerName name) {
    add(id, std::move(name), names);
  };
  for (const auto& [path, stamp] : state.files) {
    const Result<Node> file = read_node(path);
    if (!file) {  // the known ones stay
      const int code = file.error().code;
      const bool is_wrong = code == EINVAL || code == 0;  // what it is, or what it has
      state.error = is_wrong ? file.error() : cannot_read(path, code);
      if (code == 0 && !are_of_storage) state.error->remedy = kLines;
      if (!is_wrong) state.stamp.reset();  // it may be readable soon, and still be the same
      return;
    }
    if (are_of_storage) {
      parse_storage(*file, take);
    } else if (const std::string odd = parse_map(*file, take); !odd.empty()) {
      state.error = {0, "take all of '" + odd + "' from '" + path + "'", kLines};
    }
  }
  state.names = std::move(names);
}

/// Only those files are read that have changed.
void ContainerNames::read_docker(const std::string& directory, State& state) {
  const Result<std::vector<std::string>> ids = list_directory(directory, kMaxContainers);
  if (!ids) {
    state.error = cannot_read(directory, ids.error().code);
    return;
  }
  std::map<std::string, OfContainer> before = std::exchange(state.of_docker, {});
  --state.looks_left;
  state.names.clear();
  state.is_incomplete = false;
  for (const std::string& id : *ids) {
    if (!names_container(id)) continue;
    const std::string path = directory + "/" + id + kOfDocker;
    const Result<FileStamp, int> stamp = stamp_of(path);
    state.is_incomplete = state.is_incomplete || !stamp;
    if (!stamp) continue;
    const auto known = before.find(id);
    OfContainer& container = state.of_docker[id];
    if (known != before.end()) container = std::move(known->second);
    if (known == before.end() || container.stamp != *stamp) {
      container.stamp = *stamp;
      const Result<Node> file = read_node(path);
      if (file) container.name = name_in_docker(*file);  // else the known one stays
      if (!file && !state.error) state.error = file.error();
    }
    add(id, container.name, state.names);
  }
}

/// Returns whether its names may be others.
bool ContainerNames::read(const Source& source, bool is_minute, State& state) {
  const Result<FileStamp, int> stamp = stamp_of(source.path);
  if (!stamp) {
    const int code = stamp.error();
    const bool had_names = !state.names.empty();
    state = {};
    if (!source.is_optional || !is_absence(code)) state.error = cannot_read(source.path, code);
    return had_names;
  }
  struct stat at {};
  const bool is_directory = ::stat(source.path.c_str(), &at) == 0 && S_ISDIR(at.st_mode);
  const bool is_same = state.stamp == *stamp;
  if (!is_same) state.looks_left = kLooksForNew;
  if (!is_same || is_minute) {
    state.paths = is_directory ? files_of_storage(source.path) : std::vector{source.path};
  }
  std::map<std::string, FileStamp> files;
  for (const std::string& path : state.paths) {
    if (const Result<FileStamp, int> of_file = stamp_of(path)) files.emplace(path, *of_file);
  }
  const bool is_docker = state.paths.empty();
  const bool is_due = is_docker && (is_minute || (state.is_incomplete && state.looks_left > 0));
  if (is_same && state.files == files && !is_due) return false;
  state.stamp = *stamp;
  state.files = std::move(files);
  state.error.reset();
  is_docker ? read_docker(source.path, state) : read_files(is_directory, state);
  const bool is_absent = state.error && is_absence(state.error->code);
  if (source.is_optional && is_absent) state.error.reset();
  return true;
}

ContainerNames::Update ContainerNames::update(Clock::time_point now) {
  states_.resize(sources_.size());
  Update result;
  const auto is_due = [now](const std::optional<Clock::time_point>& last, auto pause) {
    return !last || now - *last >= pause;
  };
  if (is_due(updated_, kBetweenLooks)) {
    updated_ = now;
    const bool is_minute = is_due(looked_at_all_, kBetweenLooksAtAll);
    if (is_minute) looked_at_all_ = now;
    bool has_read = false;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      has_read = read(sources_[i], is_minute, states_[i]) || has_read;
    }
    if (has_read) result.has_changed = merge();
  }
  for (const State& state : states_) {
    if (!result.error) result.error = state.error;
  }
  return result;
}

bool ContainerNames::merge() {
  Names names;
  for (const State& state : states_) names.insert(state.names.begin(), state.names.end());
  const bool has_changed = names != names_;
  names_ = std::move(names);
  return has_changed;
}

const ContainerName* ContainerNames::find(std::string_view id) const {
  auto at = names_.find(id);
  if (at == names_.end()) at = names_.find(id.substr(0, kShortId));
  return at == names_.end() ? nullptr : &at->second;
}

}  // namespace pex::cgroup
