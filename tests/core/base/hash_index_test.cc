#include "core/base/hash_index.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/string_table.h"

namespace twinrun {
namespace {

TEST(HashIndex, FindsWhatWasInsertedAndNothingElse) {
  std::vector<std::uint32_t> keys;
  HashIndex index;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    keys.push_back(i * 7919);
    index.find_or_insert(keys[i], i, [&](std::uint32_t at) { return keys[at] == i * 7919; });
  }
  for (std::uint32_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(index.find(keys[i], [&](std::uint32_t at) { return keys[at] == keys[i]; }), i);
  }
  EXPECT_EQ(index.find(3, [&](std::uint32_t at) { return keys[at] == 3; }), HashIndex::kNone);
}

TEST(HashIndex, KeysWithOneHashStayApart) {
  const std::vector<std::string> keys = {"a", "b", "c"};
  HashIndex index;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto [at, is_new] =
        index.find_or_insert(42, i, [&](std::uint32_t k) { return keys[k] == keys[i]; });
    EXPECT_TRUE(is_new);
    EXPECT_EQ(at, i);
  }
  EXPECT_EQ(index.find(42, [&](std::uint32_t k) { return keys[k] == "b"; }), 1U);
}

TEST(StringTable, NumbersTextsByFirstAppearance) {
  StringTable table;
  EXPECT_EQ(table.intern("gpu0"), 0U);
  EXPECT_EQ(table.intern(""), 1U);
  EXPECT_EQ(table.intern("gpu0"), 0U);
  EXPECT_EQ(table[1], "");
  EXPECT_EQ(table.find("gpu1"), HashIndex::kNone);
  EXPECT_EQ(table.all(), (std::vector<std::string>{"gpu0", ""}));
}

}  // namespace
}  // namespace twinrun
