#include "bench/bpf/kernel_types.h"

#include <linux/btf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

namespace pex::bench {
namespace {

template <typename T>
T at(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

/// What follows a btf_type of a kind: so many bytes, and so many for each of its elements.
struct Rest {
  std::size_t fixed = 0;
  std::size_t each = 0;
};

Rest rest_of(std::uint32_t kind) {
  constexpr std::uint32_t kKindEnum64 = 19;  // since Linux 6.0
  constexpr std::uint32_t kKindDeclTag = 17;
  switch (kind) {
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case kKindDeclTag:
      return {sizeof(std::uint32_t), 0};
    case BTF_KIND_ARRAY:
      return {sizeof(btf_array), 0};
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      return {0, sizeof(btf_member)};
    case BTF_KIND_ENUM:
      return {0, sizeof(btf_enum)};
    case BTF_KIND_FUNC_PROTO:
      return {0, sizeof(btf_param)};
    case BTF_KIND_DATASEC:
      return {0, sizeof(btf_var_secinfo)};
    case kKindEnum64:
      return {0, 3 * sizeof(std::uint32_t)};
    default:
      return {};
  }
}

std::size_t size_of(const btf_type& type) {
  const Rest rest = rest_of(BTF_INFO_KIND(type.info));
  return sizeof type + rest.fixed + rest.each * BTF_INFO_VLEN(type.info);
}

}  // namespace

Result<KernelTypes> KernelTypes::load(const host::HostRoots& roots) {
  const std::string path = roots.sysfs + "/kernel/btf/vmlinux";
  std::ifstream file(path, std::ios::binary);
  KernelTypes types{std::string(std::istreambuf_iterator<char>(file), {})};
  const auto header = at<btf_header>(types.bytes_, 0);
  if (header.magic != BTF_MAGIC) {
    return Error{0, "read the types of the kernel from '" + path + "'",
                 "use a kernel with CONFIG_DEBUG_INFO_BTF"};
  }
  types.types_ = std::size_t{header.hdr_len} + header.type_off;
  types.types_end_ = types.types_ + header.type_len;
  types.names_ = std::size_t{header.hdr_len} + header.str_off;
  return types;
}

std::string_view KernelTypes::name_at(std::uint32_t offset) const {
  const std::size_t start = names_ + offset;
  if (start >= bytes_.size()) return {};
  return {bytes_.data() + start, ::strnlen(bytes_.data() + start, bytes_.size() - start)};
}

Result<KernelTypes::Found> KernelTypes::find(std::uint32_t kind, std::string_view name) const {
  Found found{1, types_};  // number 0 is void, and not in the list
  while (found.offset + sizeof(btf_type) <= types_end_) {
    const auto type = at<btf_type>(bytes_, found.offset);
    if (BTF_INFO_KIND(type.info) == kind && name_at(type.name_off) == name) return found;
    found.offset += size_of(type);
    ++found.id;
  }
  return Error{0, "find '" + std::string(name) + "' among the types of the kernel", {}};
}

Result<std::uint32_t> KernelTypes::id_of_typedef(std::string_view name) const {
  const Result<Found> found = find(BTF_KIND_TYPEDEF, name);
  if (!found) return found.error();
  return found->id;
}

Result<std::int16_t> KernelTypes::offset_of(std::string_view structure,
                                            std::string_view member) const {
  const Result<Found> found = find(BTF_KIND_STRUCT, structure);
  if (!found) return found.error();
  const auto type = at<btf_type>(bytes_, found->offset);
  for (std::size_t number = 0; number < BTF_INFO_VLEN(type.info); ++number) {
    const auto one =
        at<btf_member>(bytes_, found->offset + sizeof type + number * sizeof(btf_member));
    if (name_at(one.name_off) != member) continue;
    const std::uint32_t bits =
        BTF_INFO_KFLAG(type.info) != 0 ? BTF_MEMBER_BIT_OFFSET(one.offset) : one.offset;
    if (bits / 8 <= std::numeric_limits<std::int16_t>::max()) {
      return static_cast<std::int16_t>(bits / 8);
    }
  }
  return Error{0,
               "find member '" + std::string(member) + "' of '" + std::string(structure) +
                   "' among the types of the kernel",
               {}};
}

}  // namespace pex::bench
