#include "common/kube/timestamp.h"

#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include <limits>

namespace basalt::kube {
namespace {

using google::protobuf::util::TimeUtil;

TEST(TimestampTest, ATimeIsTheSameBothWays) {
  struct Row {
    const char* name;
    int64_t ms;
    const char* text;
  };
  for (const Row& row :
       {Row{"one millisecond", 1, "1970-01-01T00:00:00.001Z"}, Row{"one second", 1'000, "1970-01-01T00:00:01Z"},
        Row{"a time of today", 1'767'366'245'123, "2026-01-02T15:04:05.123Z"},
        Row{"one millisecond before the epoch", -1, "1969-12-31T23:59:59.999Z"},
        Row{"one second before the epoch", -1'000, "1969-12-31T23:59:59Z"},
        Row{"between two seconds before the epoch", -1'001, "1969-12-31T23:59:58.999Z"},
        Row{"the first", -62'135'596'800'000, "0001-01-01T00:00:00Z"},
        Row{"the last", 253'402'300'799'999, "9999-12-31T23:59:59.999Z"}}) {
    const auto timestamp = ToTimestamp(row.ms);
    ASSERT_NE(timestamp, nullptr) << row.name;
    EXPECT_EQ(TimeUtil::ToString(*timestamp), row.text) << row.name;
    EXPECT_EQ(ToMs(*timestamp), row.ms) << row.name;
  }
}

TEST(TimestampTest, AnUnknownTimeIsUnset) {
  EXPECT_EQ(ToTimestamp(0), nullptr);
  EXPECT_EQ(ToMs(google::protobuf::Timestamp::default_instance()), 0);
}

TEST(TimestampTest, BeyondWhatATimestampMaySayItIsTheNearest) {
  EXPECT_EQ(TimeUtil::ToString(*ToTimestamp(std::numeric_limits<int64_t>::max())), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(TimeUtil::ToString(*ToTimestamp(std::numeric_limits<int64_t>::min())), "0001-01-01T00:00:00Z");
}

TEST(TimestampTest, PartsOfAMillisecondAreLeftOut) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_nanos(1'999'999);
  EXPECT_EQ(ToMs(timestamp), 1);
  timestamp.set_seconds(-1);
  EXPECT_EQ(ToMs(timestamp), -999);
}

}  // namespace
}  // namespace basalt::kube
