#include "cgroup/naming.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace pex::cgroup {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), is_hex_digit);
}

/// The kubelet has underscores for dashes in slices, where a dash means nesting.
bool is_uuid(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() != kLength) return false;
  for (std::size_t i = 0; i < kLength; ++i) {
    const bool separates = i == 8 || i == 13 || i == 18 || i == 23;
    if (separates ? text[i] != '-' && text[i] != '_' : !is_hex_digit(text[i])) return false;
  }
  return true;
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The byte that `text` starts with in the form \xNN (systemd.unit(5)); 0 when it does not. No name
/// holds a byte 0, so "\x00" stays as it is.
char escaped_byte(std::string_view text) {
  if (text.size() < 4 || !text.starts_with("\\x")) return 0;
  const int high = hex_value(text[2]);
  const int low = hex_value(text[3]);
  return high < 0 || low < 0 ? '\0' : static_cast<char>(high * 16 + low);
}

std::string unescape(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const char byte = escaped_byte(text);
    plain += byte != 0 ? byte : text.front();
    text.remove_prefix(byte != 0 ? 4 : 1);
  }
  return plain;
}

/// What a text says; nothing when it is not of the kind that is expected.
using Said = std::optional<std::string>;

Said as_it_stands(std::string_view text, bool fits) {
  return fits ? Said(std::string(text)) : std::nullopt;
}

Said nothing(std::string_view text) { return as_it_stands(text, text.empty()); }

Said any_name(std::string_view text) { return text.empty() ? Said() : Said(unescape(text)); }

Said digits(std::string_view text) { return as_it_stands(text, is_number(text)); }

Said hex64(std::string_view text) { return as_it_stands(text, is_hex(text, 64)); }

/// A UUID, or 32 hex digits.
Said uid(std::string_view text) {
  if (!is_hex(text, 32) && !is_uuid(text)) return {};
  std::string dashed(text);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return dashed;
}

/// "1-web" says web.
Said counted_name(std::string_view text) {
  const std::string plain = unescape(text);
  const std::size_t dash = plain.find('-');
  if (dash == std::string::npos || dash + 1 == plain.size()) return {};
  if (!is_number(std::string_view(plain).substr(0, dash))) return {};
  return plain.substr(dash + 1);
}

/// A number, after a 'c' when logind counted the session itself.
Said session(std::string_view text) {
  return as_it_stands(text, is_number(text.substr(text.starts_with('c') ? 1 : 0)));
}

constexpr std::size_t kTaskLength = 32;

/// A task and the number of a container in it.
Said task_number(std::string_view text) {
  if (text.size() <= kTaskLength || text[kTaskLength] != '-') return {};
  return as_it_stands(text, is_hex(text.substr(0, kTaskLength), kTaskLength) &&
                                is_number(text.substr(kTaskLength + 1)));
}

/// A UUID, a dot and the name of a task.
Said allocation(std::string_view text) {
  constexpr std::size_t kDot = 36;
  if (text.size() <= kDot + 1 || text[kDot] != '.') return {};
  return as_it_stands(text, is_uuid(text.substr(0, kDot)));
}

/// What the directory above is known to be: some names mean something only there.
enum class Place {
  kAny,
  kUsers,       ///< user.slice
  kUser,        ///< the slice of one user
  kGuaranteed,  ///< holds pods of a QoS class, as do the next two
  kBurstable,
  kBestEffort,
  kContainerd,  ///< a namespace of containerd
  kDocker,
  kPodman,
  kContainer,  ///< a container itself
  kEcs,
  kEcsCluster,
  kEcsTask,
  kNomad,
  kProxmox,
  kNspawn,  ///< the unit of one machine
  kLxc,
  kLxcMonitor,
  kSlurm,
  kSlurmJob,
  kSlurmStep,
};

/// What begins at a component. Below a container, what was told of that no longer holds then.
enum class Begins {
  kNothing,
  kGroup,      ///< of containers: a pod, a task, a job; keeps what holds it
  kContainer,  ///< or a machine; keeps its groups
};

/// What a row tells by itself.
struct Word {
  std::string Naming::*part = nullptr;
  std::string_view text;
};

struct Row {
  Place above;
  std::string_view prefix;
  Said (*middle)(std::string_view);  ///< reads what is between prefix and suffix
  std::string_view suffix;
  std::string Naming::*tells;  ///< what the middle says; may be null
  Word word;
  Begins begins;
  Place place;  ///< what the component is to those below it
  bool is_helper = false;
};

// Columns of the table; short, so that a row is a line. NOLINTBEGIN(readability-identifier-naming)
using P = Place;
constexpr std::string Naming::*NO = nullptr;
constexpr auto ID = &Naming::container_id;
constexpr auto POD = &Naming::pod_uid;
constexpr auto MACHINE = &Naming::machine;
constexpr auto UID = &Naming::uid;
constexpr auto SESSION = &Naming::session;
constexpr auto JOB = &Naming::slurm_job;
constexpr auto STEP = &Naming::slurm_step;
constexpr auto TASK = &Naming::ecs_task;
constexpr Word NONE;
constexpr Word QOS_G{&Naming::qos_class, "guaranteed"};
constexpr Word QOS_B{&Naming::qos_class, "burstable"};
constexpr Word QOS_BE{&Naming::qos_class, "besteffort"};
constexpr Word CONTAINERD{&Naming::runtime, "containerd"};
constexpr Word CRIO{&Naming::runtime, "cri-o"};
constexpr Word DOCKER{&Naming::runtime, "docker"};
constexpr Word PODMAN{&Naming::runtime, "podman"};
constexpr Word KATA{&Naming::runtime, "kata"};
constexpr Word NOMAD{&Naming::runtime, "nomad"};
constexpr Word LIBVIRT{&Naming::runtime, "libvirt"};
constexpr Word QEMU{&Naming::runtime, "qemu"};
constexpr Word MACHINED{&Naming::runtime, "systemd-machined"};
constexpr Word NSPAWN{&Naming::runtime, "systemd-nspawn"};
constexpr Word VMSPAWN{&Naming::runtime, "systemd-vmspawn"};
constexpr Word LXC{&Naming::runtime, "lxc"};
constexpr Word SLURM{&Naming::runtime, "slurm"};
constexpr auto NOTHING = Begins::kNothing;
constexpr auto GROUP = Begins::kGroup;
constexpr auto BEGINS = Begins::kContainer;
constexpr bool HELPER = true;
// NOLINTEND(readability-identifier-naming)

/// Rows that ask for a place go before those that do not; else the first that fits counts. Where
/// any name could stand, it is taken for a container's only with all its 64 hex digits.
// clang-format off
constexpr Row kRows[] = {
    //  above        prefix                     middle        suffix               tells    word        begins   place
    // systemd-logind. Units in general are not in this table: see tell_unit.
    {P::kAny,        "user.slice",              nothing,      "",                  NO,      NONE,       NOTHING, P::kUsers},
    {P::kUsers,      "user-",                   digits,       ".slice",            UID,     NONE,       NOTHING, P::kUser},
    {P::kUser,       "session-",                session,      ".scope",            SESSION, NONE,       NOTHING, P::kAny},

    // kubelet: pods as slices (systemd driver), as directories (cgroupfs driver).
    {P::kAny,        "kubepods-pod",            uid,          ".slice",            POD,     QOS_G,      GROUP,   P::kAny},
    {P::kAny,        "kubepods-burstable-pod",  uid,          ".slice",            POD,     QOS_B,      GROUP,   P::kAny},
    {P::kAny,        "kubepods-besteffort-pod", uid,          ".slice",            POD,     QOS_BE,     GROUP,   P::kAny},
    {P::kAny,        "kubepods",                nothing,      "",                  NO,      NONE,       NOTHING, P::kGuaranteed},
    {P::kGuaranteed, "burstable",               nothing,      "",                  NO,      NONE,       NOTHING, P::kBurstable},
    {P::kGuaranteed, "besteffort",              nothing,      "",                  NO,      NONE,       NOTHING, P::kBestEffort},
    {P::kGuaranteed, "pod",                     uid,          "",                  POD,     QOS_G,      GROUP,   P::kAny},
    {P::kBurstable,  "pod",                     uid,          "",                  POD,     QOS_B,      GROUP,   P::kAny},
    {P::kBestEffort, "pod",                     uid,          "",                  POD,     QOS_BE,     GROUP,   P::kAny},

    // Runtimes: "-" in a scope, or in a directory of their own; ":" where systemd was meant to make
    // the scope, but the runtime made a directory of what it would have asked for.
    {P::kAny,        "cri-containerd-",         hex64,        ".scope",            ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "cri-containerd:",         hex64,        "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "nerdctl-",                hex64,        ".scope",            ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "nerdctl:",                hex64,        "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "k8s.io",                  nothing,      "",                  NO,      NONE,       NOTHING, P::kContainerd},
    {P::kAny,        "default",                 nothing,      "",                  NO,      NONE,       NOTHING, P::kContainerd},
    {P::kContainerd, "",                        hex64,        "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kAny,        "crio-",                   hex64,        ".scope",            ID,      CRIO,       BEGINS,  P::kContainer},
    {P::kAny,        "crio-",                   hex64,        "",                  ID,      CRIO,       BEGINS,  P::kContainer},
    {P::kAny,        "crio:",                   hex64,        "",                  ID,      CRIO,       BEGINS,  P::kContainer},
    {P::kAny,        "crio-conmon-",            hex64,        ".scope",            ID,      CRIO,       BEGINS,  P::kAny, HELPER},
    {P::kAny,        "crio-conmon-",            hex64,        "",                  ID,      CRIO,       BEGINS,  P::kAny, HELPER},
    {P::kAny,        "docker-",                 hex64,        ".scope",            ID,      DOCKER,     BEGINS,  P::kContainer},
    {P::kAny,        "docker:",                 hex64,        "",                  ID,      DOCKER,     BEGINS,  P::kContainer},
    {P::kAny,        "docker",                  nothing,      "",                  NO,      NONE,       NOTHING, P::kDocker},
    {P::kDocker,     "",                        hex64,        "",                  ID,      DOCKER,     BEGINS,  P::kContainer},
    {P::kAny,        "libpod-",                 hex64,        ".scope",            ID,      PODMAN,     BEGINS,  P::kContainer},
    {P::kAny,        "libpod-",                 hex64,        "",                  ID,      PODMAN,     BEGINS,  P::kContainer},
    {P::kAny,        "libpod:",                 hex64,        "",                  ID,      PODMAN,     BEGINS,  P::kContainer},
    {P::kAny,        "libpod-payload-",         hex64,        "",                  ID,      PODMAN,     BEGINS,  P::kContainer},
    {P::kAny,        "libpod-conmon-",          hex64,        ".scope",            ID,      PODMAN,     BEGINS,  P::kAny, HELPER},
    {P::kAny,        "libpod_pod_",             hex64,        ".slice",            NO,      PODMAN,     GROUP,   P::kAny},
    {P::kAny,        "libpod_parent",           nothing,      "",                  NO,      NONE,       NOTHING, P::kPodman},
    {P::kPodman,     "",                        hex64,        "",                  NO,      PODMAN,     GROUP,   P::kPodman},
    {P::kPodman,     "conmon",                  nothing,      "",                  NO,      PODMAN,     GROUP,   P::kAny, HELPER},
    {P::kAny,        "kata_",                   hex64,        "",                  ID,      KATA,       BEGINS,  P::kContainer},
    {P::kAny,        "",                        hex64,        "",                  ID,      NONE,       BEGINS,  P::kContainer},
    {P::kContainer,  "container",               nothing,      "",                  NO,      NONE,       NOTHING, P::kContainer},
    {P::kContainer,  "init",                    nothing,      "",                  NO,      NONE,       NOTHING, P::kAny, HELPER},

    // AWS ECS: tasks of docker containers, with or without the cluster's name; Fargate uses containerd.
    {P::kAny,        "ecstasks-",               uid,          ".slice",            TASK,    NONE,       GROUP,   P::kEcsTask},
    {P::kAny,        "ecs",                     nothing,      "",                  NO,      NONE,       NOTHING, P::kEcs},
    {P::kEcs,        "",                        uid,          "",                  TASK,    NONE,       GROUP,   P::kEcsTask},
    {P::kEcs,        "",                        task_number,  "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},
    {P::kEcs,        "",                        any_name,     "",                  NO,      NONE,       NOTHING, P::kEcsCluster},
    {P::kEcsCluster, "",                        uid,          "",                  TASK,    NONE,       GROUP,   P::kEcsTask},
    {P::kEcsTask,    "",                        hex64,        "",                  ID,      DOCKER,     BEGINS,  P::kContainer},
    {P::kEcsTask,    "",                        task_number,  "",                  ID,      CONTAINERD, BEGINS,  P::kContainer},

    // Nomad: tasks without a runtime of their own.
    {P::kAny,        "nomad.slice",             nothing,      "",                  NO,      NONE,       NOTHING, P::kNomad},
    {P::kNomad,      "share.slice",             nothing,      "",                  NO,      NONE,       NOTHING, P::kNomad},
    {P::kNomad,      "reserve.slice",           nothing,      "",                  NO,      NONE,       NOTHING, P::kNomad},
    {P::kNomad,      "",                        allocation,   ".scope",            NO,      NOMAD,      BEGINS,  P::kAny},

    // libvirt: registered with systemd-machined, before 1.3 without a number; or by itself.
    {P::kAny,        "machine-qemu\\x2d",       counted_name, ".scope",            MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "machine-qemu\\x2d",       any_name,     ".scope",            MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "machine-lxc\\x2d",        counted_name, ".scope",            MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "machine-xen\\x2d",        counted_name, ".scope",            MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "qemu-",                   counted_name, ".libvirt-qemu",     MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "",                        any_name,     ".libvirt-qemu",     MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "lxc-",                    counted_name, ".libvirt-lxc",      MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    {P::kAny,        "",                        any_name,     ".libvirt-lxc",      MACHINE, LIBVIRT,    BEGINS,  P::kAny},
    // Others that register with systemd-machined, mostly systemd-nspawn; then systemd's own services.
    {P::kAny,        "machine-",                any_name,     ".scope",            MACHINE, MACHINED,   BEGINS,  P::kNspawn},
    {P::kAny,        "systemd-nspawn@",         any_name,     ".service",          MACHINE, NSPAWN,     BEGINS,  P::kNspawn},
    {P::kNspawn,     "supervisor",              nothing,      "",                  NO,      NONE,       NOTHING, P::kAny, HELPER},
    {P::kAny,        "systemd-vmspawn@",        any_name,     ".service",          MACHINE, VMSPAWN,    BEGINS,  P::kAny},
    // Proxmox.
    {P::kAny,        "qemu.slice",              nothing,      "",                  NO,      NONE,       NOTHING, P::kProxmox},
    {P::kProxmox,    "",                        digits,       ".scope",            MACHINE, QEMU,       BEGINS,  P::kAny},
    // LXC, LXD, Incus; with a slash Proxmox and versions before 4.
    {P::kAny,        "lxc.payload.",            any_name,     "",                  MACHINE, LXC,        BEGINS,  P::kAny},
    {P::kAny,        "lxc.monitor.",            any_name,     "",                  MACHINE, LXC,        BEGINS,  P::kAny, HELPER},
    {P::kAny,        "lxc",                     nothing,      "",                  NO,      NONE,       NOTHING, P::kLxc},
    {P::kAny,        "lxc.payload",             nothing,      "",                  NO,      NONE,       NOTHING, P::kLxc},
    {P::kAny,        "lxc.monitor",             nothing,      "",                  NO,      NONE,       NOTHING, P::kLxcMonitor},
    {P::kLxc,        "",                        any_name,     "",                  MACHINE, LXC,        BEGINS,  P::kAny},
    {P::kLxcMonitor, "",                        any_name,     "",                  MACHINE, LXC,        BEGINS,  P::kAny, HELPER},

    // Slurm: version 2 below slurmstepd.scope, version 1 below slurm; either may have the node's name.
    {P::kAny,        "slurmstepd.scope",        nothing,      "",                  NO,      NONE,       NOTHING, P::kSlurm},
    {P::kAny,        "",                        any_name,     "_slurmstepd.scope", NO,      NONE,       NOTHING, P::kSlurm},
    {P::kAny,        "slurm",                   nothing,      "",                  NO,      NONE,       NOTHING, P::kSlurm},
    {P::kAny,        "slurm_",                  any_name,     "",                  NO,      NONE,       NOTHING, P::kSlurm},
    {P::kSlurm,      "system",                  nothing,      "",                  NO,      SLURM,      GROUP,   P::kAny, HELPER},
    {P::kSlurm,      "uid_",                    digits,       "",                  UID,     NONE,       GROUP,   P::kSlurm},
    {P::kSlurm,      "job_",                    digits,       "",                  JOB,     SLURM,      GROUP,   P::kSlurmJob},
    {P::kSlurmJob,   "step_",                   any_name,     "",                  STEP,    NONE,       NOTHING, P::kSlurmStep},
    {P::kSlurmStep,  "slurm",                   nothing,      "",                  NO,      NONE,       NOTHING, P::kAny, HELPER},
};
// clang-format on

constexpr std::string_view kSlice = ".slice";
/// The other units that have processes, and so cgroups: systemd.resource-control(5).
constexpr std::string_view kUnits[] = {".service", ".scope", ".socket", ".mount", ".swap"};

using Parts = std::span<std::string Naming::*const>;
/// What is told by the service manager that is nearest: the host's, a user's, a container's.
constexpr std::string Naming::*kUnitParts[] = {&Naming::unit, &Naming::slice, &Naming::uid,
                                               &Naming::session};
constexpr std::string Naming::*kWorkloadParts[] = {
    &Naming::container_id, &Naming::pod_uid,   &Naming::qos_class,  &Naming::runtime,
    &Naming::machine,      &Naming::slurm_job, &Naming::slurm_step, &Naming::ecs_task};

/// From where `own` starts in the name of a slice, which starts with those of the slices it is in
/// (systemd.slice(5)): "kubelet-kubepods-pod1" in a kubelet with a --cgroup-root of its own.
std::string_view without_outer_slices(std::string_view name, std::string_view own) {
  const std::size_t at = name.rfind(own);
  const bool starts_there = at != std::string_view::npos && (at == 0 || name[at - 1] == '-');
  return starts_there ? name.substr(at) : name;
}

Said said_by(const Row& row, std::string_view component) {
  if (!component.ends_with(row.suffix)) return {};
  component.remove_suffix(row.suffix.size());
  if (row.suffix == kSlice) component = without_outer_slices(component, row.prefix);
  if (!component.starts_with(row.prefix)) return {};
  return row.middle(component.substr(row.prefix.size()));
}

struct Match {
  const Row* row;
  std::string said;
};

std::optional<Match> first_match(Place above, std::string_view component) {
  for (const Row& row : kRows) {
    if (row.above != above) continue;
    if (Said said = said_by(row, component)) return Match{&row, *std::move(said)};
  }
  return {};
}

std::optional<Match> match(Place above, std::string_view component) {
  std::optional<Match> found = first_match(above, component);
  return found || above == Place::kAny ? found : first_match(Place::kAny, component);
}

/// Goes down a path, from component to component.
class Reader {
 public:
  void enter(std::string_view component);
  Naming naming() && { return std::move(naming_); }

 private:
  void begin(Begins what);
  void tell_unit(std::string_view component);
  void tell(const Match& match);
  void leave_outer_units();
  void forget(Parts parts);

  Naming naming_;
  Place place_ = Place::kAny;
  bool is_in_container_ = false;
  bool are_units_outer_ = false;  ///< told around the container; none inside of it yet
};

void Reader::enter(std::string_view component) {
  const std::optional<Match> found = match(place_, component);
  if (found) begin(found->row->begins);
  tell_unit(component);
  if (found) tell(*found);
  place_ = found ? found->row->place : Place::kAny;
}

void Reader::begin(Begins what) {
  if (what == Begins::kNothing) return;
  leave_outer_units();
  if (is_in_container_) forget(kWorkloadParts);
  naming_.runtime.clear();
  naming_.is_helper = false;
  is_in_container_ = what == Begins::kContainer;
}

/// Inside of a container a unit, or another container, is not one of the units around it.
void Reader::leave_outer_units() {
  if (are_units_outer_) forget(kUnitParts);
  are_units_outer_ = false;
}

void Reader::tell_unit(std::string_view component) {
  const auto has_suffix = [component](std::string_view suffix) {
    return component.size() > suffix.size() && component.ends_with(suffix);
  };
  const bool is_slice = has_suffix(kSlice);
  if (!is_slice && std::none_of(std::begin(kUnits), std::end(kUnits), has_suffix)) return;
  leave_outer_units();
  (is_slice ? naming_.slice : naming_.unit) = unescape(component);
}

void Reader::tell(const Match& match) {
  const Row& row = *match.row;
  if (row.word.part != nullptr) naming_.*row.word.part = row.word.text;
  if (row.tells != nullptr) naming_.*row.tells = match.said;
  if (row.middle == task_number) naming_.ecs_task = match.said.substr(0, kTaskLength);
  naming_.is_helper |= row.is_helper;
  if (row.begins == Begins::kContainer) are_units_outer_ = true;
}

void Reader::forget(Parts parts) {
  for (std::string Naming::*const part : parts) (naming_.*part).clear();
}

/// Where systemd was to make "docker-ID.scope" in "a.slice", but the runtime made a directory
/// itself, that has the name of the request, "a.slice:docker:ID" (the cgroupsPath of runc): two
/// components in one. The slice may be missing.
std::size_t end_of_requested_slice(std::string_view component) {
  const std::size_t colon = component.find(':');
  const bool is_request = colon != std::string_view::npos &&
                          (colon == 0 || component.substr(0, colon).ends_with(kSlice));
  return is_request ? colon : component.size();
}

}  // namespace

Naming naming_of(std::string_view path) {
  Reader reader;
  while (!path.empty()) {
    const std::string_view component = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(component.size() + 1, path.size()));
    const std::size_t slice_end = end_of_requested_slice(component);
    if (slice_end > 0) reader.enter(component.substr(0, slice_end));
    if (slice_end < component.size()) reader.enter(component.substr(slice_end + 1));
  }
  return std::move(reader).naming();
}

}  // namespace pex::cgroup
