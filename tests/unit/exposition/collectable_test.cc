#include "exposition/collectable.h"

#include <prometheus/text_serializer.h>

#include <cmath>

#include "any_snapshot.h"
#include "exposition/renderer.h"
#include "snapshots.h"
#include "support/events.h"
#include "support/test_headers.h"

namespace pex::exposition {
namespace {

using test::scope_plan;

std::string serialized(collect::Snapshot snapshot) {
  const auto latest = std::make_shared<const collect::Snapshot>(std::move(snapshot));
  const SnapshotCollectable collectable{[&] { return latest; }};
  std::ostringstream text;
  prometheus::TextSerializer{}.Serialize(text, collectable.Collect());
  return text.str();
}

std::string rendered(const collect::Snapshot& snapshot) {
  const auto text = std::make_shared<std::string>();
  Renderer{}.render(&snapshot, NoMetrics{}, {}, text);
  return *text;
}

/// Lines, of which samples are told apart from their values.
std::map<std::string, double> parsed(const std::string& text) {
  std::map<std::string, double> lines;
  std::istringstream all{text};
  for (std::string line; std::getline(all, line);) {
    const std::size_t blank = line.rfind(' ');
    if (line.starts_with('#')) {
      lines[line] = 0;
    } else {
      lines[line.substr(0, blank)] = std::stod(line.substr(blank + 1));
    }
  }
  return lines;
}

TEST(SnapshotCollectableTest, GivesNothingBeforeThereIsASnapshot) {
  const SnapshotCollectable collectable{[] { return nullptr; }};

  EXPECT_TRUE(collectable.Collect().empty());
}

TEST(SnapshotCollectableTest, GivesLabelsAsTheyWereBeforeTheyWereEscaped) {
  collect::Snapshot snapshot =
      cgroup_snapshot(scope_plan({{"core", {"cycles"}}}), targets({"/a\\x2d\"b\"\n,c=\"d"}), {7});

  EXPECT_EQ(parsed(serialized(snapshot)), parsed(rendered(snapshot)));
}

RC_GTEST_PROP(SnapshotCollectableTest, IsSerializedByPrometheusCppToWhatIsRendered, ()) {
  constexpr double kSerializerError =
      1e-15;  // it writes 16 digits, of the 17 that a double may need
  const collect::Snapshot snapshot = any_snapshot();

  const auto ours = parsed(rendered(snapshot));
  const auto theirs = parsed(serialized(snapshot));

  RC_ASSERT(ours.size() == theirs.size());
  for (auto our = ours.begin(), their = theirs.begin(); our != ours.end(); ++our, ++their) {
    RC_ASSERT(our->first == their->first);
    RC_ASSERT(std::abs(our->second - their->second) <= std::abs(our->second) * kSerializerError);
  }
}

}  // namespace
}  // namespace pex::exposition
