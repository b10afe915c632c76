#include "workload.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pex::bench {
namespace {

constexpr double kClock = 3e6;   // reference events in a busy ms: cycles at 3 GHz
constexpr double kEvents = 1e6;  // events in a busy ms
constexpr double kNoise = 0.15;  // of one ms
constexpr double kColdMs = 0.3;  // of misses after a wake-up

Phase busy(double ms, double rate = 1, double clock = 1) {
  return {ms, rate * kEvents, clock * kClock};
}

Phase idle(double ms) { return {ms}; }

/// Busy and idle in turn, for exponential times.
Phases on_off(double on_ms, double off_ms) {
  return [=, on = false](Random& random) mutable {
    on = !on;
    return on ? busy(random.exponential(on_ms)) : idle(random.exponential(off_ms));
  };
}

Phases steady() {
  return [](Random&) { return busy(1000); };
}

/// Requests of 3 ms, each a little dearer or cheaper, at a load that changes every 20 s.
Phases server() {
  return [on = false, left = 0.0, load = 0.0](Random& random) mutable {
    if (left <= 0) left = random.exponential(20'000), load = random.uniform(0.05, 0.6);
    on = !on;
    const Phase phase = on ? busy(random.exponential(3), random.uniform(0.8, 1.2))
                           : idle(random.exponential(3 / load - 3));
    left -= phase.ms;
    return phase;
  };
}

Phases heavy() {
  return [on = false](Random& random) mutable {
    on = !on;
    return on ? busy(random.pareto(1, 1.5, 10'000), random.pareto(0.5, 2.5, 5))
              : idle(random.pareto(3, 1.5, 30'000));
  };
}

/// Two levels of events for each cycle, 30 ms each, whether the CPU is busy or not.
Phases mixed() {
  return [on = false, high = false](Random& random) mutable {
    const double until_switch = random.exponential(on ? 40 : 120);  // exponential times have no
    const double until_level = random.exponential(30);              // memory: draw them anew
    const double ms = std::min(until_switch, until_level);
    const Phase phase = on ? busy(ms, high ? 1.6 : 0.4) : idle(ms);
    bool& changes = until_switch < until_level ? on : high;
    changes = !changes;
    return phase;
  };
}

Phases frequency_steps() {
  return [](Random& random) {
    const double clock = 0.25 + 0.25 * std::floor(3.999 * random.uniform());
    return busy(random.exponential(50), clock, clock);
  };
}

Phases cold_start() {
  return [left = 0.0, on = false](Random& random) mutable {
    if (on && left > 0) return busy(std::exchange(left, 0), 0.5);
    on = !on;
    if (!on) return idle(random.exponential(15));
    const double ms = random.exponential(5);
    left = std::max(0.0, ms - kColdMs);
    return busy(std::min(ms, kColdMs), 10);
  };
}

/// Half of the events come with time, half with cycles.
Phases affine() {
  return [on = false](Random& random) mutable {
    on = !on;
    Phase phase = on ? busy(random.exponential(40), 1) : idle(random.exponential(120));
    phase.events += 0.25 * kEvents;  // as many as a quarter of the time busy makes
    return phase;
  };
}

/// By turns of 10 minutes, events that come with cycles and events that come with time.
Phases regime() {
  constexpr double kTurnMs = 600'000;
  return [on = false, elapsed = 0.0](Random& random) mutable {
    on = !on;
    Phase phase = on ? busy(random.exponential(40), 1) : idle(random.exponential(120));
    if (std::fmod(elapsed, 2 * kTurnMs) >= kTurnMs) phase.events = 0.25 * kEvents;
    elapsed += phase.ms;
    return phase;
  };
}

Phases rate_phases() {
  return [high = false](Random& random) mutable {
    high = !high;
    return busy(random.exponential(30), high ? 2.5 : 0.1);
  };
}

/// Memory-bound phases: many misses while the clock is slow.
Phases anti() {
  return [slow = false](Random& random) mutable {
    slow = !slow;
    return slow ? busy(random.exponential(40), 1.6, 0.5) : busy(random.exponential(40), 0.4, 1);
  };
}

Phases time_only() {
  return [on = false](Random& random) mutable {
    on = !on;
    Phase phase = on ? busy(random.exponential(40), 1) : idle(random.exponential(120));
    phase.events = kEvents;
    return phase;
  };
}

Phases idle_only() {
  return [on = false](Random& random) mutable {
    on = !on;
    Phase phase = on ? busy(random.exponential(40), 1) : idle(random.exponential(120));
    phase.events = on ? 0 : kEvents;
    return phase;
  };
}

Phases alias() {
  return [on = false](Random&) mutable {
    on = !on;
    return on ? busy(4) : idle(12.005);
  };
}

Phases rare() {
  return [](Random& random) { return Phase{random.exponential(2000), 0, kClock, 1}; };
}

constexpr Workload kWorkloads[] = {
    {"steady", "always busy", steady},
    {"idle_fast", "2 ms busy, 6 ms idle", [] { return on_off(2, 6); }},
    {"idle_mid", "40 ms busy, 120 ms idle", [] { return on_off(40, 120); }},
    {"idle_slow", "2 s busy, 6 s idle", [] { return on_off(2000, 6000); }},
    {"idle_light", "0.5 ms busy, 16 ms idle", [] { return on_off(0.5, 16); }},
    {"server", "bursts of 3 ms, load 5 to 60 %", server},
    {"heavy", "Pareto times and rates", heavy},
    {"mixed", "idle_mid, with phases of event rate", mixed},
    {"dvfs", "frequency steps", frequency_steps},
    {"coldstart", "misses at wake-up", cold_start},
    {"affine", "half per second, half per cycle", affine},
    {"regime", "per cycle, per second: every 10 min", regime},
    {"phase_rate", "busy, event rate x 25 in phases", rate_phases},
    {"anti", "more events when the clock is slow", anti},
    {"time_const", "comes with time, load or not", time_only},
    {"idle_event", "only while the CPU is idle", idle_only},
    {"alias16", "4 ms every 16.005 ms, a turn is 16 ms", alias},
    {"rare", "0.5 events a second", rare},
};

}  // namespace

std::span<const Workload> workloads() { return kWorkloads; }

Slot SlotStream::next() {
  Slot slot;
  double squares = 0;
  for (double left = slot_ms_;;) {
    const double ms = std::min(left, phase_.ms);
    slot.events += phase_.events * ms;
    slot.reference += phase_.reference * ms;
    squares += phase_.events * phase_.events * ms;
    phase_.ms -= ms;
    left -= ms;
    if (phase_.ms > 0) break;
    slot.events += phase_.events_at_end;
    phase_ = phases_(random_);
    if (left <= 0) break;
  }
  slot.events = std::max(0.0, slot.events + kNoise * std::sqrt(squares) * random_.normal());
  return slot;
}

}  // namespace pex::bench
