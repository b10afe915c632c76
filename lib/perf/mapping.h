#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <utility>

namespace pex::perf {

/// Of a page of memory, in bytes.
inline std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// Sole owner of one mapping of mmap(2), which it unmaps; empty when it holds none. Other threads,
/// or the kernel, may write to the memory at any time.
///
/// Example:
///   constexpr int kAccess = PROT_READ | PROT_WRITE;
///   constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS;
///   const Mapping memory{::mmap(nullptr, 4096, kAccess, kKind, -1, 0), 4096};
class Mapping {
 public:
  Mapping() = default;
  /// Takes over what mmap(2) returned.
  Mapping(void* start, std::size_t bytes) noexcept
      : start_(static_cast<std::byte*>(start)), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    Mapping taken{std::move(other)};  // also right where `other` is this one
    std::swap(start_, taken.start_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~Mapping() {
    if (start_ != nullptr) ::munmap(start_, bytes_);
  }

  explicit operator bool() const noexcept { return start_ != nullptr; }
  std::byte* data() const noexcept { return start_; }
  std::size_t size() const noexcept { return bytes_; }
  std::span<std::byte> bytes() const noexcept { return {start_, bytes_}; }

 private:
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pex::perf
