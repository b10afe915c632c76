#include "daemon/status/status_json.h"

#include <boost/json.hpp>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "support/test_headers.h"
#include "unit/daemon/commands.h"
#include "unit/daemon/statuses.h"

namespace pex::daemon {
namespace {

namespace json = boost::json;
using ::testing::IsEmpty;

json::object parsed(const Status& status) { return json::parse(status_json(status)).as_object(); }

/// The part of the document about the status: it is the last one.
std::string read_document() {
  std::ifstream file{PEX_SOURCE_DIR "/docs/serving.md"};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.substr(text.find("\n## The status as JSON\n"));
}

/// Of `value` and all below it, but for the labels, which operators may choose.
void add_keys(const json::value& value, std::set<std::string>& keys) {
  if (const json::array* array = value.if_array()) {
    for (const json::value& each : *array) add_keys(each, keys);
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& [key, member] : *object) {
    keys.emplace(key);
    if (key != "labels") add_keys(member, keys);
  }
}

std::set<std::string> keys_of(const Status& status) {
  std::set<std::string> keys;
  add_keys(parsed(status), keys);
  return keys;
}

TEST(StatusJsonTest, EveryKeyIsInItsDocument) {
  const std::string document = read_document();
  std::set<std::string> missing;
  for (const std::string& key : keys_of(full_status())) {
    if (document.find("| `" + key + "` |") == document.npos) missing.insert(key);
  }

  EXPECT_THAT(missing, IsEmpty());
  EXPECT_GT(keys_of(full_status()).size(), 60U);
}

/// In the rows of its tables.
std::set<std::string> documented_keys() {
  std::set<std::string> keys;
  for (const std::string& line : lines_of(read_document())) {
    if (line.starts_with("| `")) keys.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return keys;
}

TEST(StatusJsonTest, EveryKeyOfItsDocumentIsThere) {
  const std::set<std::string> there = keys_of(full_status());
  std::set<std::string> made_up;
  for (const std::string& key : documented_keys()) {
    if (!there.contains(key)) made_up.insert(key);
  }

  EXPECT_THAT(made_up, IsEmpty());
}

/// As far down as both are objects; lists may be empty, and an unknown object is null.
void expect_same_keys(const json::object& one, const json::object& other, const std::string& at) {
  std::set<std::string> keys_of_one;
  std::set<std::string> keys_of_other;
  for (const auto& member : one) keys_of_one.emplace(member.key());
  for (const auto& member : other) keys_of_other.emplace(member.key());
  EXPECT_EQ(keys_of_one, keys_of_other) << "in " << at;
  for (const auto& [key, value] : one) {
    const json::value* same = other.if_contains(key);
    if (same == nullptr || !value.is_object() || !same->is_object()) continue;
    expect_same_keys(value.get_object(), same->get_object(), at + "/" + std::string(key));
  }
}

TEST(StatusJsonTest, HasTheSameKeysWhetherAnythingIsKnownOrNot) {
  const json::object empty = parsed(starting_status());
  const json::object full = parsed(full_status());

  expect_same_keys(empty, full, "");
  expect_same_keys(empty.at("groups").as_array()[0].as_object(),
                   full.at("groups").as_array()[0].as_object(), "groups");
  expect_same_keys(empty.at("sums").at(0).as_object(), full.at("sums").at(0).as_object(), "sums");
}

TEST(StatusJsonTest, HoldsNoCommandForATerminal) {
  Status status = full_status();
  status.warnings = {"\u009b31m \u202e"};

  const std::string text = status_json(status);

  EXPECT_NE(text.find("\\u009b31m \\u202e"), std::string::npos);
  EXPECT_EQ(parsed(status).at("warnings").at(0), "\u009b31m \u202e");
}

/// For those who compare two of them.
std::string with_a_line_for_each_object(std::string text) {
  for (std::size_t at = 0; (at = text.find(',', at)) != text.npos; ++at) {
    if (text[at - 1] == '}' || text[at - 1] == ']') text.insert(at + 1, "\n");
  }
  return text;
}

/// A status of which everything is known, and one before the first poll, whose numbers are null:
/// both are what the test of the page in a browser draws (tests/kernel/status_page_test.py).
/// PEX_UPDATE_STATUSES=1 writes them again.
class DrawnStatusTest : public ::testing::TestWithParam<std::pair<const char*, Status (*)()>> {};

TEST_P(DrawnStatusTest, IsWhatIsWritten) {
  const auto& [name, status] = GetParam();
  const std::string path = PEX_SOURCE_DIR "/tests/unit/daemon/statuses/" + std::string(name);
  const std::string written = status_json(status());
  if (std::getenv("PEX_UPDATE_STATUSES") != nullptr) {
    std::ofstream{path} << with_a_line_for_each_object(written);
  }
  std::ifstream file{path};
  const std::string drawn{std::istreambuf_iterator<char>(file), {}};

  EXPECT_EQ(json::parse(drawn), json::parse(written))
      << path << " is of another format. Remedy: run this with PEX_UPDATE_STATUSES=1, and look at "
      << "what has changed";
}

INSTANTIATE_TEST_SUITE_P(All, DrawnStatusTest,
                         ::testing::Values(std::pair("starting.json", &starting_status),
                                           std::pair("full.json", &full_status)));

TEST(StatusJsonTest, PointsHaveSixDigits) {
  Status status = full_status();
  status.use.cgroups[0].points = {0.13680584728717804, 2'212'345'678.0, 1e-9};

  const json::value busy = parsed(status).at("activity").at("top_cgroups").as_array()[0];

  EXPECT_EQ(busy.at("points"), (json::array{0.136806, 2'212'350'000.0, 1e-9}));
}

TEST(StatusJsonTest, WithoutCyclesTheirPointsAreUnknown) {
  Status status = full_status();
  status.use.host.erase(status.use.host.begin());

  const json::value host = parsed(status).at("activity").at("host");

  EXPECT_TRUE(host.at("cycles_per_second").is_null());
  EXPECT_EQ(host.at("points"), (json::array{nullptr, nullptr, nullptr}));
}

TEST(StatusJsonTest, CgroupsAreRankedByTheKeyOfARateIfItHasOne) {
  struct Row {
    std::optional<history::Role> role;
    json::value key;
  };
  Status status = full_status();
  for (const auto& [role, key] : {Row{history::Role::kCpuTime, "cpu_seconds_per_second"},
                                  {history::Role::kCycles, "cycles_per_second"},
                                  {history::Role::kInstructions, "instructions_per_second"},
                                  {history::Role::kOther, nullptr},
                                  {std::nullopt, nullptr}}) {
    status.use.ranked_by = role;
    const json::value activity = parsed(status).at("activity");
    EXPECT_EQ(activity.at("ranked_by"), key);
    EXPECT_EQ(activity.at("busy_cgroups").is_null(), !role);
    EXPECT_EQ(activity.at("idle_cgroups").is_null(), !role);
  }
}

TEST(StatusJsonTest, NamesNoSettingWhereNoneLeavesCgroupsOut) {
  Status status = full_status();
  status.cgroups->left_out_setting = {};

  EXPECT_TRUE(parsed(status).at("cgroups").at("left_out_setting").is_null());
}

TEST(StatusJsonTest, ASumHasItsLabelsInTheirOrder) {
  const json::value sum = parsed(full_status()).at("sums").at(0);

  EXPECT_EQ(json::serialize(sum.at("top_sums").at(1).at("labels")),
            R"({"namespace":"shop","container":"database"})");
}

TEST(StatusJsonTest, UnknownIsNullAndZeroIsZero) {
  Status status = full_status();
  Status::BusyCgroup& cgroup = status.use.cgroups[0];
  cgroup.rates[0].per_second = 0.0;
  cgroup.rates[1].per_second = std::nullopt;
  cgroup.rates[2].per_second = std::numeric_limits<double>::infinity();
  cgroup.points = {0.0, std::nullopt};

  const json::value busy = parsed(status).at("activity").at("top_cgroups").as_array()[0];

  EXPECT_EQ(busy.at("cpu_seconds_per_second").as_double(), 0);
  EXPECT_TRUE(busy.at("cycles_per_second").is_null());
  EXPECT_TRUE(busy.at("instructions_per_second").is_null());
  EXPECT_TRUE(busy.at("rates").at(1).at("per_second").is_null());
  EXPECT_EQ(busy.at("points").as_array()[0].as_double(), 0);
  EXPECT_TRUE(busy.at("points").as_array()[1].is_null());
}

TEST(StatusJsonTest, AnyBytesInANameAreJson) {
  const std::string name = "/\"\\\n\t\x01<script>\xff\xc3\xa4";
  Status status = full_status();
  status.use.cgroups[0].path = name;
  status.cgroups->left_out_paths = {name};
  status.configuration.errors = {name};

  const json::object object = parsed(status);

  EXPECT_EQ(object.at("activity").at("top_cgroups").as_array()[0].at("cgroup").as_string(),
            "/\"\\\n\t\x01<script>\uFFFDff\u00e4");
}

}  // namespace
}  // namespace pex::daemon
