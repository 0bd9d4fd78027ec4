#include "core/io/render_diagnostics.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "core/io/json_document.h"

namespace twinrun {
namespace {

std::string rendered(const std::string& text, const Diagnostics& diagnostics) {
  const auto find = [&](const std::string& file) -> std::optional<Source> {
    return Source::of_text(file, text);
  };
  return render_text(locate(diagnostics, find), false);
}

std::string rendered_syntax_error(const std::string& text) {
  Diagnostics diagnostics;
  (void)JsonDocument::read(Source::of_text("f.json", text), diagnostics);
  return rendered(text, diagnostics);
}

// One complaint "bad value" about a place given by pointer only.
std::string rendered_at(const std::string& text, const std::string& pointer, bool at_key = false) {
  Diagnostics diagnostics;
  diagnostics.error("E0203", {"f.json", pointer, -1, at_key}, "bad value");
  return rendered(text, diagnostics);
}

TEST(RenderDiagnostics, SyntaxErrorShowsLineCaretPointerAndHelp) {
  EXPECT_EQ(rendered_syntax_error("{\n  \"nodes\": [1, 2,],\n}"),
            "error[E0102]: a comma before the closing bracket\n"
            "  --> f.json:2:17  (/nodes/2)\n"
            "   2 |   \"nodes\": [1, 2,],\n"
            "     |                 ^\n"
            "  help: remove the comma\n"
            "  see: twinrun explain E0102\n");
}

TEST(RenderDiagnostics, APlaceAtTheFirstColumnBelongsToItsOwnLine) {
  EXPECT_EQ(rendered_syntax_error("[1\n2]"),
            "error[E0102]: expected ',' or ']' here\n"
            "  --> f.json:2:1  (/1)\n"
            "   2 | 2]\n"
            "     | ^\n"
            "  help: separate entries with commas\n"
            "  see: twinrun explain E0102\n");
}

TEST(RenderDiagnostics, APointerFindsItsValue) {
  EXPECT_EQ(rendered_at("{\"a\":\n [10, {\"x/y\": -42}]}", "/a/1/x~1y"),
            "error[E0203]: bad value\n"
            "  --> f.json:2:15  (/a/1/x~1y)\n"
            "   2 |  [10, {\"x/y\": -42}]}\n"
            "     |               ^^^\n"
            "  see: twinrun explain E0203\n");
}

TEST(RenderDiagnostics, AKeyPlaceIsUnderlinedWithItsQuotes) {
  EXPECT_EQ(rendered_at("{\"a\": {\"bandwith\": 1}}", "/a/bandwith", true),
            "error[E0203]: bad value\n"
            "  --> f.json:1:8  (/a/bandwith)\n"
            "   1 | {\"a\": {\"bandwith\": 1}}\n"
            "     |        ^^^^^^^^^^\n"
            "  see: twinrun explain E0203\n");
}

TEST(RenderDiagnostics, TabsAndOtherControlCharactersAreSingleBlanks) {
  EXPECT_EQ(rendered_at("{\n\t\t\"a\":\t5\n}", "/a"),
            "error[E0203]: bad value\n"
            "  --> f.json:2:8  (/a)\n"
            "   2 |   \"a\": 5\n"
            "     |        ^\n"
            "  see: twinrun explain E0203\n");
}

TEST(RenderDiagnostics, ColumnsCountCharactersNotBytes) {
  EXPECT_EQ(rendered_at("{\"µs·😀\": \"größe\"}", "/µs·😀"),
            "error[E0203]: bad value\n"
            "  --> f.json:1:10  (/µs·😀)\n"
            "   1 | {\"µs·😀\": \"größe\"}\n"
            "     |          ^^^^^^^\n"
            "  see: twinrun explain E0203\n");
}

TEST(RenderDiagnostics, EscapedQuotesDoNotEndTheUnderline) {
  EXPECT_EQ(rendered_at(R"(["a\"b", 2])", "/0"),
            "error[E0203]: bad value\n"
            "  --> f.json:1:2  (/0)\n"
            "   1 | [\"a\\\"b\", 2]\n"
            "     |  ^^^^^^\n"
            "  see: twinrun explain E0203\n");
}

TEST(RenderDiagnostics, AVeryLongLineIsShownAroundTheColumn) {
  std::string text = "[";
  for (int i = 0; i < 10000; ++i) {
    text += "1,";
  }
  text += "-7";
  for (int i = 0; i < 10000; ++i) {
    text += ",1";
  }
  std::string around = "…";
  for (int i = 0; i < 40; ++i) {
    around += "1,";
  }
  around += "-7";
  for (int i = 0; i < 39; ++i) {
    around += ",1";
  }
  EXPECT_EQ(rendered_at(text + "]", "/10000"),
            "error[E0203]: bad value\n"
            "  --> f.json:1:20002  (/10000)\n"
            "   1 | " +
                around +
                "…\n"
                "     | " +
                std::string(81, ' ') +
                "^^\n"
                "  see: twinrun explain E0203\n");
}

TEST(RenderDiagnostics, TheLastLineNeedsNoNewline) {
  EXPECT_EQ(rendered_syntax_error("{\"a\": 1,\n \"b\": [2"),
            "error[E0102]: the file ends inside an array\n"
            "  --> f.json:2:9  (/b/1)\n"
            "   2 |  \"b\": [2\n"
            "     |         ^\n"
            "  help: close it with ']'; is the file cut short?\n"
            "  see: twinrun explain E0102\n");
}

TEST(RenderDiagnostics, CarriageReturnsAreNotShown) {
  EXPECT_EQ(rendered_at("{\r\n \"a\": 5\r\n}\r\n", "/a"),
            "error[E0203]: bad value\n"
            "  --> f.json:2:7  (/a)\n"
            "   2 |  \"a\": 5\n"
            "     |       ^\n"
            "  see: twinrun explain E0203\n");
}

TEST(RenderDiagnostics, BytesThatAreNotTextNeverReachTheTerminal) {
  EXPECT_EQ(rendered_syntax_error("[\"\x1B[31m\xFF\"]"),
            "error[E0102]: control character 0x1B inside a string\n"
            "  --> f.json:1:3  (/0)\n"
            "   1 | [\" [31m\uFFFD\"]\n"
            "     |   ^\n"
            "  help: write it as an escape such as \\n or \\t; or is the closing quote missing?\n"
            "  see: twinrun explain E0102\n");
}

TEST(RenderDiagnostics, AnEmptyFileIsPointedAtToo) {
  EXPECT_EQ(rendered_syntax_error(""),
            "error[E0102]: the file is empty\n"
            "  --> f.json:1:1\n"
            "   1 | \n"
            "     | ^\n"
            "  help: is the file cut short?\n"
            "  see: twinrun explain E0102\n");
}

TEST(RenderDiagnostics, AWarningWithoutFileIsTwoLines) {
  Diagnostics diagnostics;
  diagnostics.warning("W0205", {}, "odd");
  EXPECT_EQ(rendered("", diagnostics), "warning[W0205]: odd\n  see: twinrun explain W0205\n");
}

TEST(RenderDiagnostics, LabelStandsBesideTheCaret) {
  Diagnostics diagnostics;
  diagnostics.add({Severity::kError,
                   "E0312",
                   "6 does not divide 32",
                   {"f.json", "/d", -1, false},
                   "must be one of 1, 2",
                   "use 2"});
  EXPECT_EQ(rendered("{\"d\":6}", diagnostics),
            "error[E0312]: 6 does not divide 32\n"
            "  --> f.json:1:6  (/d)\n"
            "   1 | {\"d\":6}\n"
            "     |      ^ must be one of 1, 2\n"
            "  help: use 2\n"
            "  see: twinrun explain E0312\n");
}

TEST(RenderDiagnostics, JsonLinesCarryEveryField) {
  Diagnostics diagnostics;
  diagnostics.error("E0203", {"f.json", "/a", -1, false}, "bad \"value\"", "fix it");
  const auto find = [](const std::string& file) -> std::optional<Source> {
    return Source::of_text(file, "{\n\"a\": 5}");
  };
  EXPECT_EQ(render_jsonl(locate(diagnostics, find)),
            R"({"severity":"error","code":"E0203","message":"bad \"value\"","file":"f.json",)"
            R"("line":2,"column":6,"pointer":"/a","help":"fix it"})"
            "\n");
}

}  // namespace
}  // namespace twinrun
