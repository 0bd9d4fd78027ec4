#include "core/base/place_map.h"

#include <gtest/gtest.h>

namespace twinrun {
namespace {

TEST(PlaceMap, SaysThePointerItselfUnlessItMoved) {
  const PlaceMap places("job.json");
  EXPECT_EQ(places.at("/a/b").file, "job.json");
  EXPECT_EQ(places.at("/a/b").pointer, "/a/b");
  EXPECT_EQ(places.at("").pointer, "");
  EXPECT_TRUE(places.at("/a", true).at_key);
}

TEST(PlaceMap, WhatIsBelowMovesAlong) {
  PlaceMap places("job.json");
  places.move("/topology", {"box.json", "", -1, false});
  places.move("/a/b", {"job.json", "/x", -1, false});
  EXPECT_EQ(places.at("/topology/nodes/0").file, "box.json");
  EXPECT_EQ(places.at("/topology/nodes/0").pointer, "/nodes/0");
  EXPECT_EQ(places.at("/a/b/1").pointer, "/x/1");
  EXPECT_EQ(places.at("/a/bc").pointer, "/a/bc");  // another key with the same beginning
  EXPECT_FALSE(places.is_in_file("/topology"));
  EXPECT_TRUE(places.is_in_file("/a/b"));
}

TEST(PlaceMap, OptionsHaveNoInside) {
  PlaceMap places("job.json");
  places.move("/a", {"job.json", "/x", -1, false});
  places.move_to_option("/a/b", "--set a.b=[1]");
  EXPECT_EQ(places.at("/a/b/0").file, "--set a.b=[1]");
  EXPECT_EQ(places.at("/a/b/0").pointer, "");
  EXPECT_EQ(places.at("/a/c").pointer, "/x/c");  // the longest prefix decides
}

}  // namespace
}  // namespace twinrun
