#include "bench/scrape/heap_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> bytes = 0;

void* allocate(std::size_t size) {
  bytes.fetch_add(size, std::memory_order_relaxed);
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc{};
}

}  // namespace

// In place of the library's, for the whole program; those of arrays call these.
void* operator new(std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

std::uint64_t pex::bench::allocated_bytes() { return bytes.load(std::memory_order_relaxed); }
