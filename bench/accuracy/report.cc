#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "table.h"

namespace pex::bench {
namespace {

constexpr std::size_t kPapi = 2;

using Show = std::function<std::string(const FiguresOfAll&)>;

/// A column of a table: the same figure at each poll interval, "1 s / 15 s".
struct PublishedEvent {
  std::string heading;
  Show show;
};

Show rms_of(std::size_t formula) {
  return [=](const FiguresOfAll& all) { return digits(100 * all[formula].rms()); };
}

/// A whole number, but never 0 for what happened.
std::string rounded(double number) {
  return number > 0 && number < 1 ? "<1" : std::to_string(std::lround(number));
}

Show falls_of(std::size_t formula) {
  return [=](const FiguresOfAll& all) { return rounded(all[formula].falls_per_1000()); };
}

Show worst_rate_of(std::size_t formula) {
  return [=](const FiguresOfAll& all) { return digits(all[formula].worst_rate()); };
}

Show bias_of(std::size_t formula) {
  return [=](const FiguresOfAll& all) { return percent(all[formula].bias()); };
}

std::string gain(const FiguresOfAll& all) { return digits(all[kDelta].rms() / all[kOurs].rms()); }

std::string coverage(const FiguresOfAll& all) { return digits(100 * all[kOurs].coverage()); }

std::vector<PublishedEvent> error_columns() {
  std::vector<PublishedEvent> columns;
  for (std::size_t i = 0; i < kFormulaCount; ++i)
    columns.push_back({formulas()[i].name, rms_of(i)});
  columns.push_back({"delta / ours", gain});
  return columns;
}

std::vector<PublishedEvent> other_columns() {
  return {{"falls: lifetime", falls_of(kLifetime)},
          {"PAPI", falls_of(kPapi)},
          {"ours", falls_of(kOurs)},
          {"worst rate: lifetime", worst_rate_of(kLifetime)},
          {"delta", worst_rate_of(kDelta)},
          {"ours", worst_rate_of(kOurs)},
          {"bias: raw", bias_of(0)},
          {"ratio", bias_of(4)},
          {"ours", bias_of(kOurs)},
          {"within 2 SE", coverage}};
}

std::vector<std::string> heading_of(const char* first, const std::vector<PublishedEvent>& columns) {
  std::vector<std::string> heading = {first};
  for (const PublishedEvent& column : columns) heading.push_back(column.heading);
  return heading;
}

std::string both(const PublishedEvent& column, const FiguresOfAll& at_1s,
                 const FiguresOfAll& at_15s) {
  const std::string first = column.show(at_1s);
  const std::string second = column.show(at_15s);
  return first == second ? first : first + " / " + second;
}

const Cell& cell_of(const std::vector<Cell>& cells, std::size_t workload, std::size_t setting,
                    int poll_seconds) {
  return *std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) {
    return cell.workload == workload && cell.setting == setting &&
           cell.poll_seconds == poll_seconds;
  });
}

std::string simulated_table(const std::vector<Cell>& cells, std::size_t setting,
                            const std::vector<PublishedEvent>& columns) {
  Table table(heading_of("workload", columns));
  for (std::size_t workload = 0; workload < workloads().size(); ++workload) {
    std::vector<std::string> row = {workloads()[workload].name};
    for (const PublishedEvent& column : columns) {
      row.push_back(both(column, cell_of(cells, workload, setting, kPollSeconds[0]).figures,
                         cell_of(cells, workload, setting, kPollSeconds[1]).figures));
    }
    table.add(std::move(row));
  }
  return table.markdown();
}

std::string list_of_workloads() {
  std::string text;
  for (const Workload& workload : workloads()) {
    text.append("- ").append(workload.name).append(": ").append(workload.what).append("\n");
  }
  return text;
}

std::string list_of_formulas() {
  std::string text;
  for (const Formula& formula : formulas()) {
    text.append("- ").append(formula.name).append(": ").append(formula.used_by).append("\n");
  }
  return text;
}

/// Of all cells of one setting, the middle and the worst.
std::string sweep_table(const std::vector<Cell>& cells) {
  Table table({"setting", "median ours / delta", "worst ours / delta", "worst bias %", "falls"});
  for (std::size_t setting = 0; setting < settings().size(); ++setting) {
    std::vector<double> ratios;
    double bias = 0;
    std::uint64_t falls = 0;
    for (const Cell& cell : cells) {
      if (cell.setting != setting) continue;
      const Figures& ours = cell.figures[kOurs];
      ratios.push_back(ours.rms() / cell.figures[kDelta].rms());
      if (std::abs(ours.bias()) > std::abs(bias)) bias = ours.bias();
      falls += ours.falls();
    }
    std::sort(ratios.begin(), ratios.end());
    char worst[16];
    std::snprintf(worst, sizeof worst, "%.4f", ratios.back());
    table.add({settings()[setting].name, digits(ratios[ratios.size() / 2]), worst, percent(bias),
               std::to_string(falls)});
  }
  return table.markdown();
}

/// Of "6.12.117+deb12-cloud-arm64" the part before the distributor's.
std::string name_of(const Replay& replay) {
  const Recording& of = *replay.recording;
  return of.kernel.substr(0, of.kernel.find_first_of("+-")) + " " + of.scope + ", " + of.load +
         (replay.by_time ? ", by time" : "");
}

std::string recorded_table(const std::vector<Replay>& replays) {
  std::vector<PublishedEvent> columns = error_columns();
  columns.push_back({"falls: lifetime", falls_of(kLifetime)});
  columns.push_back({"bias: delta", bias_of(kDelta)});
  columns.push_back({"ours", bias_of(kOurs)});
  Table table(heading_of("recording", columns));
  for (const Replay& replay : replays) {
    std::vector<std::string> row = {name_of(replay)};
    for (const PublishedEvent& column : columns) {
      row.push_back(both(column, replay.figures[0], replay.figures[1]));
    }
    table.add(std::move(row));
  }
  return table.markdown();
}

std::string cgroup_table(const std::vector<CgroupCell>& cells) {
  const std::vector<PublishedEvent> columns = {
      {"RMS: delta", rms_of(kDelta)},           {"ours", rms_of(kOurs)},
      {"bias: delta", bias_of(kDelta)},         {"ours", bias_of(kOurs)},
      {"falls: lifetime", falls_of(kLifetime)}, {"ours", falls_of(kOurs)}};
  Table table(heading_of("cgroup, groups, kernel", columns));
  for (const CgroupCell& cell : cells) {
    std::vector<std::string> row = {cell.name()};
    for (const PublishedEvent& column : columns) {
      row.push_back(both(column, cell.figures[0], cell.figures[1]));
    }
    table.add(std::move(row));
  }
  return table.markdown();
}

}  // namespace

std::string report(const std::vector<Cell>& cells, const std::vector<CgroupCell>& cgroups,
                   const std::vector<Replay>& replays) {
  std::string text = "Formulas, and who uses them:\n\n" + list_of_formulas();
  text += "\nWorkloads, and when their event comes:\n\n" + list_of_workloads();
  for (const std::size_t setting : {kConstantShare, kVaryingShare}) {
    const std::string name = settings()[setting].name;
    text += "\nRMS error in %, simulated, " + name + ", polls of 1 s / 15 s:\n\n" +
            simulated_table(cells, setting, error_columns());
    text += "\nFalls in 1000 polls, worst 5 minutes, bias in %, coverage in %; simulated, " + name +
            ", polls of 1 s / 15 s:\n\n" + simulated_table(cells, setting, other_columns());
  }
  text += "\nAll settings:\n\n" + sweep_table(cells);
  text +=
      "\nCgroups that switch often or hardly run, by time, simulated: RMS error and bias in %, "
      "falls "
      "in 1000 polls; polls of 1 s / 15 s:\n\n" +
      cgroup_table(cgroups);
  text += "\nRMS error, falls in 1000 polls and bias, recorded; polls of 1 s / 15 s:\n\n" +
          recorded_table(replays);
  return text;
}

}  // namespace pex::bench
