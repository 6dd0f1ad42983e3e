#include "runtime/trace_file.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/collectives_inproc.h"
#include "tests/sharding/written_files.h"

namespace tp {
namespace {

using Json = nlohmann::json;

class TraceFile : public WrittenFiles {};

Span span(const char* name, const char* category, Span::Clock::time_point origin, int begin_ms, int end_ms, int64_t bytes = 0) {
  return {name, category, origin + std::chrono::milliseconds(begin_ms), origin + std::chrono::milliseconds(end_ms), bytes};
}

TEST_F(TraceFile, HasATrackForEachRankAndSplitsCollectivesIntoWaitAndWork) {
  const std::string path = (dir_ / "trace.json").string();
  const Span::Clock::time_point origin = Span::Clock::now() - std::chrono::seconds(10);
  run_ranks(2, [&](Communicator& communicator) {
    Timeline timeline;
    // Rank 1 comes to the second collective 300 ms later.
    const int late = communicator.rank() == 0 ? 0 : 300;
    timeline.add(span("all_reduce", "collective", origin, 0, 100, 64));
    timeline.add(span("linear", "op", origin, 200, 400 + late));
    timeline.add(span("all_gather", "collective", origin, 400 + late, 900, 128));
    write_trace(path, timeline, communicator);
  });
  std::ifstream file(path);
  const Json events = Json::parse(file)["traceEvents"];
  std::vector<std::string> rank0, rank1;
  for (const Json& event : events) {
    if (event["ph"] == "M") continue;
    const auto milliseconds = [](const Json& us) {
      return std::to_string(std::lround(us.get<double>() / 100) / 10.0).substr(0, 3);
    };
    (event["pid"] == 0 ? rank0 : rank1)
        .push_back(event["name"].get<std::string>() + " " + event["cat"].get<std::string>() + " " + milliseconds(event["dur"]));
  }
  // The ranks' clocks are matched at a barrier, which they leave within less than a tenth of a millisecond, or within some on a
  // busy machine: the lengths of ops and, with 300 ms between the ranks, the kinds of the pieces are certain.
  EXPECT_THAT(rank0, testing::Contains("linear op 200"));
  EXPECT_THAT(rank1, testing::Contains("linear op 500"));
  EXPECT_THAT(rank0, testing::Contains(testing::StartsWith("wait wait ")));
  EXPECT_THAT(rank1, testing::Contains(testing::StartsWith("all_gather collective ")));
  EXPECT_EQ(events[0]["args"]["name"], "rank 0");
  EXPECT_EQ(events.back()["args"]["bytes"], 128);
}

TEST(Timeline, RecordsCountedCollectivesWhileItIsAsked) {
  run_ranks(2, [](Communicator& communicator) {
    Timeline timeline;
    float value = 1;
    communicator.all_reduce_sum(&value, 1);
    communicator.record(&timeline);
    communicator.all_reduce_sum(&value, 1);
    communicator.barrier();  // a control message
    communicator.record(nullptr);
    communicator.all_reduce_sum(&value, 1);
    ASSERT_EQ(timeline.spans().size(), 1u);
    EXPECT_STREQ(timeline.spans()[0].name, "all_reduce");
    EXPECT_STREQ(timeline.spans()[0].category, "collective");
    EXPECT_EQ(timeline.spans()[0].bytes, 4);
    EXPECT_GE(timeline.spans()[0].seconds(), 0.0);
  });
}

}  // namespace
}  // namespace tp
