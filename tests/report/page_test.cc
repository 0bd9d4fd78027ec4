#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/page_data.h"
#include "report/render_page.h"
#include "tests/report/small_runs.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string data_block(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

PageContent content_of(const SmallRun& run) {
  PageContent content;
  content.runs.push_back(
      {"runs/a", {{"name", "a job"}, {"step_s", 1e-5}}, "", &run.plan, nullptr, &run.trace});
  return content;
}

TEST(RenderPage, TheDataBlockIsTheDataWhateverIsInIt) {
  Json data = {{"title", "</script><script>alert(1)</script>"},
               {"headline", "<b>&\"\n</b> {{data}} {{script}}"},
               {"odd", {"<!--", "\u2028", "\\u003c", "é", "{{style}}"}}};
  const std::string page = render_page(data);
  EXPECT_EQ(Json::parse(data_block(page)), data);
  EXPECT_THAT(data_block(page), Not(HasSubstr("<")));
  EXPECT_THAT(
      page,
      HasSubstr("<title>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; · twinrun</title>"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;&amp;&quot;\n&lt;/b&gt; {{data}} {{script}}"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
}

TEST(RenderPage, BytesThatAreNoTextDoNotBreakIt) {
  const std::string page = render_page({{"title", "\xff\xfe"}});
  EXPECT_NO_THROW(Json::parse(data_block(page)));
}

TEST(RenderPage, AFileMayAskNobodyAServedPageItsServer) {
  EXPECT_THAT(render_page(Json::object()), HasSubstr("connect-src 'none'"));
  EXPECT_THAT(render_page(Json::object(), PageHome::kServer), HasSubstr("connect-src 'self'"));
}

TEST(RenderPage, NamesNoOtherPlace) {
  const std::string page = render_page(Json::object());
  for (const char* const sign : {"src=\"http", "href=\"http", "url(http", "@import", "//cdn"}) {
    EXPECT_THAT(page, Not(HasSubstr(sign)));
  }
}

TEST(PageData, HasWhatTheRunHas) {
  const SmallRun run = alike_ranks(2, 2);
  const Json data = page_data(content_of(run));
  EXPECT_EQ(data["schema"], "twinrun/page/1");
  EXPECT_EQ(data["title"], "a job");
  EXPECT_EQ(data["runs"][0]["timeline"]["ops"], 12);
  EXPECT_EQ(data["runs"][0]["pipeline"], nullptr);
  EXPECT_EQ(data["runs"][0]["topology"], nullptr);
}

TEST(PageData, WithoutATraceThereIsNoTimeline) {
  PageContent content;
  content.runs.push_back({"runs/a", {{"step_s", 1.0}}});
  EXPECT_EQ(page_data(content)["runs"][0]["timeline"], nullptr);
  EXPECT_EQ(page_data(content)["title"], "runs/a");
}

TEST(PageData, TimelinesOfAllRunsShareTheLimit) {
  const SmallRun run = alike_ranks(64, 3);
  PageContent content = content_of(run);
  content.runs.push_back(content.runs.front());
  const Json data = page_data(content, 3000);
  std::size_t bytes = 0;
  for (const Json& one : data["runs"]) {
    bytes += one["timeline"]["sequences"].dump().size() + one["timeline"]["rows"].dump().size();
    EXPECT_THAT(one["timeline"]["left_out"].get<std::string>(), HasSubstr("timeline shows"));
  }
  EXPECT_LE(bytes, 6000U);
}

}  // namespace
}  // namespace twinrun::report
