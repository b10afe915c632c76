// Load on a server of metrics, and what a well-behaved client notices of it.
//
//   load ADDRESS PORT PATH SECONDS CONNECTIONS
//
// Half of the connections are deaf: they ask for one scrape after another and never read an answer.
// The others are greedy: they scrape over and over, compressed. A connection that is dropped is
// made again. Meanwhile a patient client, in a thread of its own, scrapes ten times a second on one
// connection, and notes how long each answer took to arrive in full. Ends after SECONDS and prints
// key=value lines: what the clients were answered, and the latencies of the patient one in ms.
//
// Each kind of client is served by one thread, so that load does not become a fight for the CPU.

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr auto kReturnError = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kPeriod{100};     ///< of the patient client
constexpr std::chrono::milliseconds kReconnect{100};  ///< after a connection was refused or dropped
constexpr int kDeafBuffer = 4096;         ///< so little that the server soon has to wait for it
constexpr unsigned kRequestsAtOnce = 16;  ///< of a deaf client
constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr unsigned kDropped = 0;  ///< in place of a status

struct Tally {
  std::uint64_t ok = 0;
  std::uint64_t unavailable = 0;  ///< 503
  std::uint64_t other = 0;
  std::uint64_t dropped = 0;  ///< or refused

  void count(unsigned status) {
    ++(status == 200 ? ok : status == 503 ? unavailable : status == kDropped ? dropped : other);
  }
  void print(const char* who) const {
    std::printf("%s_ok=%ju\n%s_unavailable=%ju\n%s_other=%ju\n%s_dropped=%ju\n", who,
                std::uintmax_t{ok}, who, std::uintmax_t{unavailable}, who, std::uintmax_t{other},
                who, std::uintmax_t{dropped});
  }
};

struct Target {
  tcp::endpoint endpoint;
  std::string path;

  std::string request(std::string_view fields) const {
    return "GET " + path + " HTTP/1.1\r\nHost: load\r\n" + std::string(fields) + "\r\n";
  }
};

unsigned status_of(std::string_view head) {
  constexpr std::string_view kBegin = "HTTP/1.1 ";
  if (!head.starts_with(kBegin)) return kDropped;
  return static_cast<unsigned>(std::atoi(head.data() + kBegin.size()));
}

std::size_t length_of(std::string_view head) {
  constexpr std::string_view kField = "\r\nContent-Length: ";
  const std::size_t at = head.find(kField);
  return at == head.npos ? 0 : std::strtoull(head.data() + at + kField.size(), nullptr, 10);
}

// In a co_await expression stand only names, moves of names and literals: g++ 12 destroys other
// temporaries there twice.

/// One connection, made when it is needed.
class Connection {
 public:
  Connection(asio::io_context& loop, const Target& target) : target_(target), socket_(loop) {}

  /// Status of the answer, once it has arrived in full; kDropped when none does.
  asio::awaitable<unsigned> scrape(const std::string& request) {
    unsigned status = kDropped;
    const bool is_sent = co_await send(request);
    if (is_sent) status = co_await read_answer();
    if (status == kDropped) drop();
    co_return status;
  }

  asio::awaitable<bool> send(const std::string& bytes) {
    const bool is_open = co_await connect();
    if (!is_open) co_return false;
    const auto buffer = asio::buffer(bytes);
    const auto [error, size] = co_await asio::async_write(socket_, buffer, kReturnError);
    co_return !error;
  }

  /// The kernel is to keep no more than `bytes` of what nobody reads.
  void limit_receiving_to(int bytes) { receive_buffer_ = bytes; }

  void drop() {
    error_code ignored;
    socket_.close(ignored);
    received_.clear();
  }

 private:
  asio::awaitable<bool> connect() {
    if (socket_.is_open()) co_return true;
    socket_.open(target_.endpoint.protocol());
    socket_.set_option(tcp::no_delay(true));
    if (receive_buffer_ > 0) socket_.set_option(tcp::socket::receive_buffer_size(receive_buffer_));
    const auto [error] = co_await socket_.async_connect(target_.endpoint, kReturnError);
    if (error) drop();
    co_return !error;
  }

  asio::awaitable<unsigned> read_answer() {
    auto input = asio::dynamic_buffer(received_);
    const auto [error, head_size] =
        co_await asio::async_read_until(socket_, input, kEndOfHead, kReturnError);
    if (error) co_return kDropped;

    const std::string head = received_.substr(0, head_size);
    const std::size_t size = head_size + length_of(head);
    if (received_.size() < size) {
      const auto rest = asio::transfer_exactly(size - received_.size());
      const auto [broken, read] = co_await asio::async_read(socket_, input, rest, kReturnError);
      if (broken) co_return kDropped;
    }
    received_.erase(0, size);
    co_return status_of(head);
  }

  const Target& target_;
  tcp::socket socket_;
  std::string received_;
  int receive_buffer_ = 0;  ///< 0: the kernel's own choice
};

asio::awaitable<void> pause() {
  asio::steady_timer timer{co_await asio::this_coro::executor, kReconnect};
  co_await timer.async_wait(kReturnError);
}

asio::awaitable<void> scrape_greedily(asio::io_context& loop, const Target& target, Tally& tally) {
  const std::string request = target.request("Accept-Encoding: gzip\r\n");
  for (Connection connection{loop, target};;) {
    const unsigned status = co_await connection.scrape(request);
    tally.count(status);
    if (status == kDropped) co_await pause();
  }
}

asio::awaitable<void> ask_and_never_listen(asio::io_context& loop, const Target& target,
                                           Tally& tally) {
  std::string requests;
  for (unsigned i = 0; i < kRequestsAtOnce; ++i) requests += target.request("");
  Connection connection{loop, target};
  connection.limit_receiving_to(kDeafBuffer);
  while (true) {
    const bool is_sent = co_await connection.send(requests);
    if (is_sent) continue;
    tally.count(kDropped);
    connection.drop();
    co_await pause();
  }
}

struct Patience {
  Tally tally;
  std::vector<double> milliseconds;         ///< of each answer
  std::optional<Clock::time_point> asking;  ///< since when, while no answer is there
};

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

asio::awaitable<void> scrape_patiently(asio::io_context& loop, const Target& target,
                                       Patience& patience) {
  const std::string request = target.request("");
  Connection connection{loop, target};
  asio::steady_timer timer{loop};
  for (auto due = Clock::now();; due = std::max(due + kPeriod, Clock::now())) {
    timer.expires_at(due);
    co_await timer.async_wait(kReturnError);
    const auto begin = Clock::now();
    patience.asking = begin;
    const unsigned status = co_await connection.scrape(request);
    patience.asking.reset();
    patience.tally.count(status);
    if (status != kDropped) patience.milliseconds.push_back(milliseconds_since(begin));
  }
}

/// By the nearest rank; 0 of nothing.
double percentile(const std::vector<double>& sorted, double percent) {
  if (sorted.empty()) return 0;
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

void print(Patience& patience) {
  std::vector<double>& sorted = patience.milliseconds;
  if (patience.asking) sorted.push_back(milliseconds_since(*patience.asking));  // at least
  std::sort(sorted.begin(), sorted.end());
  patience.tally.print("patient");
  std::printf("patient_p50_ms=%.3f\npatient_p99_ms=%.3f\npatient_max_ms=%.3f\n",
              percentile(sorted, 50), percentile(sorted, 99), percentile(sorted, 100));
}

void run(const Target& target, std::chrono::seconds duration, unsigned connections) {
  asio::io_context crowd_loop{1};
  asio::io_context patient_loop{1};
  Tally greedy;
  Tally deaf;
  Patience patience;
  for (unsigned i = 0; i < connections; ++i) {
    asio::co_spawn(crowd_loop,
                   i % 2 == 0 ? ask_and_never_listen(crowd_loop, target, deaf)
                              : scrape_greedily(crowd_loop, target, greedy),
                   asio::detached);
  }
  asio::co_spawn(patient_loop, scrape_patiently(patient_loop, target, patience), asio::detached);

  std::thread patient{[&] { patient_loop.run_for(duration); }};
  crowd_loop.run_for(duration);
  patient.join();
  print(patience);
  greedy.print("greedy");
  std::printf("deaf_dropped=%ju\n", std::uintmax_t{deaf.dropped});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: %s ADDRESS PORT PATH SECONDS CONNECTIONS\n", argv[0]);
    return 2;
  }
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  const Target target{{asio::ip::make_address(argv[1]), port}, argv[3]};
  run(target, std::chrono::seconds{std::atoi(argv[4])}, static_cast<unsigned>(std::atoi(argv[5])));
}
