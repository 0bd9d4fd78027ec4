#include "core/base/diagnostics.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/base/check.h"
#include "core/base/diagnostic_codes.h"

namespace twinrun {
namespace {

TEST(Diagnostics, ErrorsAndWarningsKeepTheirOrderAndParts) {
  Diagnostics diagnostics;
  diagnostics.warning("W0301", {"a.json", "/links/3"}, "odd", "look");
  diagnostics.error("E0203", {"a.json", "/count"}, "too small");
  ASSERT_EQ(diagnostics.all().size(), 2U);
  EXPECT_EQ(diagnostics.all()[0].severity, Severity::kWarning);
  EXPECT_EQ(diagnostics.all()[0].help, "look");
  EXPECT_EQ(diagnostics.all()[1].severity, Severity::kError);
  EXPECT_EQ(diagnostics.all()[1].code, "E0203");
  EXPECT_EQ(diagnostics.all()[1].message, "too small");
  EXPECT_EQ(diagnostics.all()[1].place.pointer, "/count");
}

TEST(Diagnostics, WarningsAloneDoNotThrow) {
  Diagnostics diagnostics;
  diagnostics.warning("W0301", {}, "odd");
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_NO_THROW(diagnostics.throw_if_errors());
}

TEST(Diagnostics, OneThrowCarriesEveryComplaint) {
  Diagnostics diagnostics;
  diagnostics.error("E0201", {}, "first");
  diagnostics.error("E0202", {}, "second");
  try {
    diagnostics.throw_if_errors();
    FAIL() << "did not throw";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "first");
    EXPECT_EQ(error.diagnostics().all().size(), 2U);
  }
}

TEST(Diagnostics, AMillionMistakesCostTwenty) {
  Diagnostics diagnostics;
  for (int i = 0; i < 1'000'000; ++i) {
    diagnostics.error("E0203", {}, std::to_string(i));
  }
  EXPECT_EQ(diagnostics.all().size(), 20U);
  EXPECT_EQ(diagnostics.all().back().message, "19");
  EXPECT_EQ(diagnostics.error_count(), 1'000'000U);
  EXPECT_EQ(diagnostics.dropped(), 999'980U);
}

TEST(Diagnostics, ManyWarningsDoNotHideTheError) {
  Diagnostics diagnostics;
  for (int i = 0; i < 100; ++i) {
    diagnostics.warning("W0301", {}, "odd");
  }
  diagnostics.error("E0203", {}, "the real one");
  ASSERT_TRUE(diagnostics.has_errors());
  EXPECT_TRUE(std::any_of(diagnostics.all().begin(), diagnostics.all().end(),
                          [](const Diagnostic& d) { return d.message == "the real one"; }));
  EXPECT_STREQ(InputError(diagnostics).what(), "the real one");
}

TEST(UsageError, CarriesWhatToDo) {
  const UsageError error("unknown verb", "try --help");
  EXPECT_STREQ(error.what(), "unknown verb");
  EXPECT_EQ(error.help(), "try --help");
}

TEST(DiagnosticCodes, AreSortedUniqueAndExplained) {
  std::string_view last = "";
  for (const DiagnosticCode& row : diagnostic_codes()) {
    EXPECT_LT(last, row.code);
    EXPECT_EQ(row.code.size(), 5U);
    EXPECT_FALSE(row.title.empty()) << row.code;
    EXPECT_TRUE(row.explanation.ends_with('.')) << row.code;
    EXPECT_EQ(find_diagnostic_code(row.code), &row);
    last = row.code;
  }
}

TEST(DiagnosticCodes, UnknownOnesAreNotFound) {
  EXPECT_EQ(find_diagnostic_code("E9999"), nullptr);
  EXPECT_EQ(find_diagnostic_code(""), nullptr);
}

TEST(Check, ABrokenInvariantSaysWhichAndWhere) {
  const auto line = __LINE__ + 2;
  try {
    TWINRUN_CHECK(1 > 2);
    FAIL() << "did not throw";
  } catch (const std::logic_error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("1 > 2"), std::string::npos) << said;
    EXPECT_NE(said.find("diagnostics_test.cc:" + std::to_string(line)), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace twinrun
