#include "exposition/text_writer.h"

#include <optional>
#include <span>

#include "exposition/text_format.h"

namespace pex::exposition {
namespace {

void write_rows(LateFamily& samples, const EventFamily::Member& member,
                std::span<const collect::GroupTable> tables, const RowLabels::Rows& rows) {
  const collect::Column& column = *member.column;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::optional<collect::EventTotal> total = collect::value_of(column, tables, row);
    if (!total) continue;
    std::string& text = samples.start(rows[row], member.labels);
    append_value(text, total->value, column.event.scale);
    text += '\n';
  }
}

void write_events(std::string& text, const std::vector<EventFamily>& families,
                  std::span<const collect::GroupTable> tables, const RowLabels& rows, Scope scope) {
  for (const EventFamily& family : families) {
    LateFamily samples{text, family.name, family.help};
    for (const EventFamily::Member& member : family.columns) {
      write_rows(samples, member, tables, rows.of(scope, member.column->aggregation));
    }
  }
}

}  // namespace

void TextWriter::remember(const collect::Snapshot& snapshot) {
  if (plan_.lock() == snapshot.plan && targets_.lock() == snapshot.targets) return;
  plan_ = snapshot.plan;
  targets_ = snapshot.targets;
  rows_ = RowLabels{snapshot};
  cpu_families_ = families_of(Scope::kCpu, snapshot.plan->cpu);
  cgroup_families_ = families_of(Scope::kCgroup, snapshot.plan->cgroup);
  cgroup_info_ = CgroupInfo{snapshot.targets->cgroups};
  evidence_ = EvidenceWriter{*snapshot.plan};
}

void TextWriter::write(const collect::Snapshot& snapshot, std::string& text) {
  remember(snapshot);
  write_events(text, cpu_families_, snapshot.cpu, rows_, Scope::kCpu);
  write_events(text, cgroup_families_, snapshot.cgroup, rows_, Scope::kCgroup);
  cgroup_info_.write(text);
  evidence_.write(snapshot, rows_, text);
}

}  // namespace pex::exposition
