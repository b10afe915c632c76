// Once it is warm, a scrape takes no memory for its samples, however many there are: neither while
// it is rendered nor while it is compressed. That it is sent from there is tested in tests/http.

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdlib>
#include <new>

#include "daemon/web/scrape_cache.h"
#include "support/events.h"
#include "support/patience.h"
#include "support/test_headers.h"
#include "unit/exposition/snapshots.h"

namespace {

std::atomic<std::size_t> allocated = 0;

void* allocate(std::size_t size) noexcept {
  allocated += size;
  return std::malloc(size > 0 ? size : 1);
}

}  // namespace

// In place of the library's, for the whole program; those of arrays call these.
void* operator new(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc{};
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace pex::daemon {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<const collect::TargetSet> cgroups(std::size_t count) {
  collect::TargetSet set;
  for (std::size_t i = 0; i < count; ++i) {
    collect::CgroupTarget& target = set.cgroups.emplace_back();
    target.series = i + 1;
    target.path = "/system.slice/some-service-with-a-name@" + std::to_string(i) + ".service";
  }
  return std::make_shared<const collect::TargetSet>(std::move(set));
}

/// What scrapes of so many samples take, each of another snapshot of the same targets.
std::size_t memory_of_a_scrape(std::size_t rows, bool gzip) {
  const auto targets = cgroups(rows);
  collect::Snapshot snapshot = exposition::cgroup_snapshot(
      test::scope_plan({{"core", {"cycles", "instructions"}}, {"soft", {"task-clock"}}}), targets,
      std::vector<std::uint64_t>(rows * 3, 1'234'567'890));
  ScrapeCache::Latest latest;
  boost::asio::io_context loop;
  boost::asio::thread_pool worker{1};
  const auto own = std::make_shared<const exposition::NoMetrics>();
  ScrapeCache scrapes{
      loop,
      worker,
      {.latest = [&] { return latest; }, .read_self = [&] { return own; }, .poll = [] {}}};
  scrapes.set_max_age(1h);

  std::size_t taken = 0;
  for (int poll = 0; poll < 6; ++poll) {
    latest = {std::make_shared<const collect::Snapshot>(snapshot), ScrapeCache::Clock::now()};
    const std::size_t before = allocated;
    std::size_t bytes = 0;
    scrapes.answer({}, gzip, [&](http::Response response) { bytes = response.body->size(); });
    const auto limit = ScrapeCache::Clock::now() + test::kPatience;
    while (bytes == 0 && ScrapeCache::Clock::now() < limit) {
      loop.restart();
      loop.run_for(1ms);
    }
    taken = allocated - before;
    EXPECT_GT(bytes, gzip ? 100 : rows * 5 * 60);
  }
  worker.join();
  return taken;
}

TEST(ScrapeMemoryTest, DoesNotGrowWithTheNumberOfSamples) {
  constexpr std::size_t kNoise = 2048;  // turns of the loop until the worker is done

  for (const bool gzip : {false, true}) {
    const std::size_t few = memory_of_a_scrape(10, gzip);
    const std::size_t many = memory_of_a_scrape(20'000, gzip);

    EXPECT_LT(many, few + kNoise) << "gzip " << gzip;
    EXPECT_LT(many, 64u * 1024);
  }
}

}  // namespace
}  // namespace pex::daemon
