#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "host/roots.h"

namespace pex::bench {

/// The types of the running kernel (BTF), which it publishes if it was built with them.
class KernelTypes {
 public:
  static Result<KernelTypes> load(const host::HostRoots& roots);

  /// The number of a typedef in the kernel's list of types.
  Result<std::uint32_t> id_of_typedef(std::string_view name) const;
  /// Where a member is in a structure, in bytes. Members of unnamed members are not found.
  Result<std::int16_t> offset_of(std::string_view structure, std::string_view member) const;

 private:
  struct Found {
    std::uint32_t id = 0;
    std::size_t offset = 0;  ///< into `bytes_`
  };

  explicit KernelTypes(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string_view name_at(std::uint32_t offset) const;
  Result<Found> find(std::uint32_t kind, std::string_view name) const;

  std::string bytes_;      ///< as the kernel has them: a header, types, and their names
  std::size_t types_ = 0;  ///< where they begin and end, and where their names begin
  std::size_t types_end_ = 0;
  std::size_t names_ = 0;
};

}  // namespace pex::bench
