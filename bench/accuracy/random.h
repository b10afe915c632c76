#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace pex::bench {

/// xoshiro256++ (Blackman and Vigna, 2019), seeded by splitmix64. The standard library's generators
/// are exact everywhere, but its distributions differ between libraries; these figures may not.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t bits() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// In (0, 1].
  double uniform() { return (static_cast<double>(bits() >> 11) + 1) * 0x1p-53; }
  double uniform(double from, double to) { return from + (to - from) * uniform(); }
  double exponential(double mean) { return -mean * std::log(uniform()); }

  /// Heavy-tailed: P(more than v) = (least / v)^shape, cut off at `most`.
  double pareto(double least, double shape, double most) {
    return std::fmin(most, least * std::pow(uniform(), -1 / shape));
  }

  /// Nearly normal, mean 0, variance 1, within 3.5: the sum of four uniform numbers.
  double normal() {
    const std::uint64_t word = bits();
    const std::uint64_t sum =
        (word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48);
    return (static_cast<double>(sum) - 2 * 65535.0) * (1.7320508075688772 / 65536);
  }

 private:
  std::uint64_t state_[4];
};

}  // namespace pex::bench
