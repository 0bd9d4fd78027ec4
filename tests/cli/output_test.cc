#include "cli/output.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "cli/build_info.h"

namespace twinrun::cli {
namespace {

Output two_rows() {
  Output output;
  output.text = "said first\n";
  Table main;
  main.columns = {{"a"}};
  main.rows = {{1}, {2}};
  Table second;
  second.columns = {{"b"}};
  second.rows = {{"x"}};
  output.json["rows"] = to_json(main);
  output.json["total"] = 2;
  output.json["undefined"] = std::nan("");
  output.rows_key = "rows";
  output.tables = {main, second};
  return output;
}

TEST(Output, AsTableIsTextThenEveryTable) {
  EXPECT_EQ(render(two_rows(), Format::kTable, false), "said first\n\na\n1\n2\n\nb\nx\n");
}

TEST(Output, AsCsvIsTheMainTable) {
  EXPECT_EQ(render(two_rows(), Format::kCsv, false), "a\n1\n2\n");
}

TEST(Output, AsJsonIsOneObjectWithNullForNan) {
  EXPECT_EQ(nlohmann::json::parse(render(two_rows(), Format::kJson, true)),
            nlohmann::json::parse(R"({"rows":[{"a":1},{"a":2}],"total":2,"undefined":null})"));
}

TEST(Output, AsJsonLinesIsVersionRowsRest) {
  EXPECT_EQ(render(two_rows(), Format::kJsonl, false),
            std::string(R"({"type":"version","tool":"twinrun","version":")") + kVersion +
                "\",\"schema\":\"1.0\"}\n"
                R"({"type":"row","a":1})"
                "\n"
                R"({"type":"row","a":2})"
                "\n"
                R"({"type":"result","total":2,"undefined":null})"
                "\n");
}

TEST(Output, BytesThatAreNotUtf8DoNotStopTheJson) {
  Output output;
  output.json["file"] = "a\xFF";
  EXPECT_EQ(render(output, Format::kJson, false), "{\n  \"file\": \"a\uFFFD\"\n}\n");
}

}  // namespace
}  // namespace twinrun::cli
