#include "services/jobsvc/core/pods/places/place_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/random.h"
#include "services/jobsvc/core/pods/testing.h"

namespace basalt::jobsvc {
namespace {

using testing::PlacesOf;

// Returns the places of task 0 for which the picture has "#".
PlaceSet Make(std::string_view picture) {
  PlaceSet places;
  for (size_t from = picture.find('#'); from != std::string_view::npos;) {
    const size_t to = std::min(picture.find('.', from), picture.size());
    places.AddRange(0, static_cast<int32_t>(from), static_cast<int32_t>(to));
    from = picture.find('#', to);
  }
  return places;
}

std::string PictureOf(const PlaceSet& places, size_t size) {
  std::string picture(size, '.');
  for (const PodIndex& place : places) picture[static_cast<size_t>(place.index)] = '#';
  return picture;
}

struct Row {
  const char* before;
  char change;  // '+' or '-'
  int32_t index;
  const char* after;
  size_t ranges;
};

TEST(PlaceSetTest, NeighboursAreOneRange) {
  const Row rows[] = {
      // The place is alone, behind another one, before one, between two, or out of reach of any.
      {"....", '+', 1, ".#..", 1},
      {"#...", '+', 1, "##..", 1},
      {"..#.", '+', 1, ".##.", 1},
      {"#.#.", '+', 1, "###.", 1},
      {"#..#", '+', 1, "##.#", 2},
      {"#....", '+', 3, "#..#.", 2},
      // The place is in the set already.
      {"##..", '+', 1, "##..", 1},
      {"####", '+', 1, "####", 1},
      {"####", '+', 0, "####", 1},
      // The place is all of a range, its first, its last, or one in the middle.
      {".#..", '-', 1, "....", 0},
      {".##.", '-', 1, "..#.", 1},
      {"##..", '-', 1, "#...", 1},
      {"###.", '-', 1, "#.#.", 2},
      {"#.###", '-', 3, "#.#.#", 3},
      // The place is not in the set.
      {"#.#.", '-', 1, "#.#.", 2},
      {"#...", '-', 1, "#...", 1},
      {"..#.", '-', 1, "..#.", 1},
      {"....", '-', 1, "....", 0},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.before) + " " + row.change + std::to_string(row.index));
    PlaceSet places = Make(row.before);
    if (row.change == '+') {
      places.Insert({0, row.index});
    } else {
      places.Erase({0, row.index});
    }
    const std::string_view after = row.after;
    EXPECT_EQ(PictureOf(places, after.size()), after);
    EXPECT_EQ(places.ranges(), row.ranges);
    EXPECT_EQ(places.size(), static_cast<size_t>(std::count(after.begin(), after.end(), '#')));
    EXPECT_EQ(places.empty(), row.ranges == 0);
    EXPECT_TRUE(places == Make(after));
  }
}

TEST(PlaceSetTest, ARangeEndsWithItsTask) {
  PlaceSet places;
  places.AddRange(0, 0, 1);
  places.Insert({1, 1});
  EXPECT_EQ(places.ranges(), 2u);
  places.Insert({1, 0});
  EXPECT_EQ(places.ranges(), 2u);
  places.Erase({2, 0});
  places.Erase({0, 1});
  EXPECT_EQ(PlacesOf(places), (std::vector<PodIndex>{{0, 0}, {1, 0}, {1, 1}}));
}

TEST(PlaceSetTest, ATaskIsFoundBehindLargeOnes) {
  PlaceSet places;
  places.AddRange(0, 0, 200'000);
  places.AddRange(2, 7, 200'000);
  EXPECT_EQ(places.size(), 399'993u);
  EXPECT_EQ(places.ranges(), 2u);
  EXPECT_EQ(*places.FirstOf(0), (PodIndex{0, 0}));
  EXPECT_EQ(*places.FirstOf(1), (PodIndex{2, 7})) << "it has none: the next one";
  EXPECT_EQ(*places.FirstOf(2), (PodIndex{2, 7}));
  EXPECT_TRUE(places.FirstOf(3) == places.end());
  places.Clear();
  EXPECT_TRUE(places.FirstOf(0) == places.end());
  EXPECT_TRUE(places == PlaceSet());
}

TEST(PlaceSetTest, HoldsWhatASetOfPlacesWouldHold) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    PlaceSet places;
    std::set<PodIndex> plain;
    for (int step = 0; step < 500; ++step) {
      const PodIndex place{static_cast<int32_t>(random.Uniform(3)), static_cast<int32_t>(random.Uniform(12))};
      if (random.OneIn(2)) {
        places.Insert(place);
        plain.insert(place);
      } else {
        places.Erase(place);
        plain.erase(place);
      }
      size_t ranges = 0;
      for (const PodIndex& in : plain) ranges += plain.contains({in.task, in.index - 1}) ? 0 : 1;
      ASSERT_EQ(PlacesOf(places), std::vector<PodIndex>(plain.begin(), plain.end()));
      ASSERT_EQ(places.size(), plain.size());
      ASSERT_EQ(places.ranges(), ranges);
    }
  }
}

}  // namespace
}  // namespace basalt::jobsvc
