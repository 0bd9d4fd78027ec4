#include "cli/table.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace twinrun::cli {
namespace {

Table links() {
  Table table;
  table.columns = {{"link"}, {"bandwidth_GBps", "GB/s", Align::kRight, 1}, {"up"}, {"note"}};
  table.columns.back().only_for_programs = true;
  table.rows = {{"gpu0·gpu1", 25.0, true, "a,\"b\""},
                {"µ", std::numeric_limits<double>::infinity(), false, "two\nlines"},
                {"x", Cell(300.25, "300 GB/s"), {}, ""}};
  return table;
}

TEST(Table, AlignsByCharactersAndLeavesNoBlanksAtLineEnds) {
  EXPECT_EQ(to_text(links(), false),
            "link           GB/s  up\n"
            "gpu0·gpu1      25.0  yes\n"
            "µ                 -  no\n"
            "x          300 GB/s  -\n");
}

TEST(Table, TitleRuleAndNoteSurroundTheRows) {
  Table table;
  table.title = "Links";
  table.columns = {{"a"}, {"b"}};
  table.rows = {{1, 2}};
  table.note = "1 link";
  table.has_rule = true;
  EXPECT_EQ(to_text(table, false), "Links\na  b\n----\n1  2\n1 link\n");
}

TEST(Table, ColorPaintsTonesAndDoesNotChangeTheWidth) {
  Table table;
  table.columns = {{"a"}, {"b"}};
  table.has_header = false;
  table.rows = {{Cell("ok", "ok", Tone::kGood), 1}, {"missing", 2}};
  EXPECT_EQ(to_text(table, true), "\x1b[32mok\x1b[0m       1\nmissing  2\n");
}

TEST(Table, CsvQuotesAsRfc4180AndLeavesAbsentValuesEmpty) {
  EXPECT_EQ(to_csv(links()),
            "link,bandwidth_GBps,up,note\n"
            "gpu0·gpu1,25,true,\"a,\"\"b\"\"\"\n"
            "µ,,false,\"two\nlines\"\n"
            "x,300.25,,\n");
}

TEST(Table, JsonHasNullForWhatIsAbsentOrInfinite) {
  EXPECT_EQ(to_json(links()).dump(),
            R"([{"link":"gpu0·gpu1","bandwidth_GBps":25.0,"up":true,"note":"a,\"b\""},)"
            R"({"link":"µ","bandwidth_GBps":null,"up":false,"note":"two\nlines"},)"
            R"({"link":"x","bandwidth_GBps":300.25,"up":null,"note":""}])");
}

}  // namespace
}  // namespace twinrun::cli
