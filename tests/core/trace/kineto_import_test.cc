#include "core/trace/kineto_import.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/io/read_kineto.h"
#include "core/strategy/strategies.h"
#include "core/topology/build_topology.h"
#include "core/trace/compare.h"
#include "core/trace/kineto.h"
#include "core/trace/phases.h"
#include "core/trace/trace_rows.h"
#include "sim/simulate.h"
#include "tests/core/io/read_job_text.h"
#include "tests/core/trace/example_runs.h"

namespace twinrun {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- a small file of our own making, in the form of PyTorch's profiler

std::string slice(const std::string& category,
                  const std::string& name,
                  int tid,
                  double start,
                  double length,
                  const std::string& args = "") {
  return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","pid":0,"tid":)" +
         std::to_string(tid) + R"(,"ts":)" + std::to_string(start) + R"(,"dur":)" +
         std::to_string(length) + R"(,"args":{)" + args + "}}";
}
std::string launch(int correlation, int thread, double at) {
  return slice("cuda_runtime", "cudaLaunchKernel", thread, at, 1,
               R"("correlation":)" + std::to_string(correlation));
}
std::string kernel(
    int correlation, const std::string& name, int stream, double start, double length) {
  return slice(
      "kernel", name, stream, start, length,
      R"("stream":)" + std::to_string(stream) + R"(,"correlation":)" + std::to_string(correlation));
}
std::string all_reduce(int correlation, double start, double length, int elements = 1000) {
  return slice(
      "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 20, start, length,
      R"("stream":20,"correlation":)" + std::to_string(correlation) +
          R"(,"Collective name":"allreduce","In msg nelems":)" + std::to_string(elements) +
          R"(,"Out msg nelems":)" + std::to_string(elements) +
          R"(,"Group size":2,"dtype":"Half","Process Group Name":"0","Process Group Ranks":"[0, 1]")");
}

// Two steps on main thread 1, backward functions on thread 2; microseconds since 1000.
std::string two_step_file(int rank, double late = 0) {
  std::vector<std::string> events;
  for (int step = 0; step < 2; ++step) {
    const double t = 1000 + 100 * step;
    const int c = 10 * step;
    for (const std::string& event : {
             slice("user_annotation", "ProfilerStep#" + std::to_string(7 + step), 1, t, 98),
             slice("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 1, t + 1, 2),
             slice("user_annotation", "DistributedDataParallel.forward", 1, t + 5, 25),
             launch(c + 1, 1, t + 6),
             kernel(c + 1, "void cudnn::bn_fw_tr_1C11<float, 512>(float)", 7, t + 10, 20),
             launch(c + 2, 1, t + 8),
             slice("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, t + 30, 5,
                   R"("bytes":4096,"correlation":)" + std::to_string(c + 2)),
             slice("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 2, t + 40, 20),
             launch(c + 3, 2, t + 42),
             kernel(c + 3, "sgemm", 7, t + 45, 15),
             launch(c + 4, 2, t + 50),
             all_reduce(c + 4, t + 60 + late, 20 - late),
             slice("user_annotation", "Optimizer.step#SGD.step", 1, t + 85, 5),
             launch(c + 5, 1, t + 86),
             kernel(c + 5, "multi_tensor_apply", 7, t + 90, 4),
         }) {
      events.push_back(event);
    }
  }
  events.push_back(R"({"ph":"i","name":"Iteration Start","pid":"Traces","tid":"x","ts":1000.0})");
  std::string text = R"({"schemaVersion":1,"distributedInfo":{"rank":)" + std::to_string(rank) +
                     R"(,"world_size":2},"traceName":"small","traceEvents":[)";
  for (std::size_t i = 0; i < events.size(); ++i) {
    text += (i == 0 ? "" : ",\n") + events[i];
  }
  return text + "]}";
}

ImportedRun imported(const std::vector<std::string>& texts) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    sources.push_back(Source::of_text("file" + std::to_string(i), texts[i]));
  }
  Diagnostics diagnostics;
  const std::vector<KinetoFile> files = read_kineto_ranks(sources, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  return import_kineto(files);
}

std::string row(const ImportedRun& run, std::size_t i) {
  const auto op = id_at<OpId>(i);
  const OpTimes& times = run.trace.ops[i];
  const auto us = [](Time time) { return std::to_string(time.ps / 1'000'000); };
  return std::string(run.plan.id(op)) + " " + std::string(name_of(run.plan.kind(op))) + " " +
         us(times.ready) + " " + us(times.start) + " " + us(times.end);
}

std::vector<std::string> rows(const ImportedRun& run) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    out.push_back(row(run, i));
  }
  return out;
}

TEST(KinetoImport, GivesTheOpsOfEachStepWithTheirPhases) {
  const ImportedRun run = imported({two_step_file(0)});
  const std::vector<std::string> all = rows(run);
  ASSERT_EQ(all.size(), 18U);
  EXPECT_THAT(std::vector(all.begin(), all.begin() + 9),
              ElementsAre("step7/host/forward@rank0 host 5 5 30",
                          "step7/forward/0000-bn_fw_tr_1C11@rank0 compute 6 10 30",
                          "step7/input/0000-memcpy@rank0 copy 30 30 35",
                          "step7/host/backward@rank0 host 40 40 60",
                          "step7/backward/0000-sgemm@rank0 compute 42 45 60",
                          "step7/all_reduce/0@rank0 collective 50 60 80",
                          "step7/host/update@rank0 host 85 85 90",
                          "step7/update/0000-multi_tensor_apply@rank0 compute 86 90 94",
                          "step7/end@rank0 marker 100 100 100"));
  EXPECT_EQ(all[10], "step8/forward/0000-bn_fw_tr_1C11@rank0 compute 106 110 130");
  EXPECT_EQ(all[17], "step8/end@rank0 marker 198 198 198") << "the last ends with its own slice";
  EXPECT_EQ(run.trace.source, "imported");
  EXPECT_EQ(run.plan.text().name, "small");
  const OpId reduce = id_at<OpId>(5);
  EXPECT_EQ(run.plan.collective(reduce).bytes, Bytes{2000});  // 1000 halves
  EXPECT_EQ(run.plan.shape(reduce).kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(run.plan.group_devices(run.plan.shape(reduce).group).size(), 2U);
  EXPECT_EQ(run.plan.device_name(run.plan.device(reduce)), "gpu0");
  EXPECT_EQ(run.plan.stream_name(run.plan.stream(reduce)), "stream 20");
  EXPECT_EQ(phase_of(run.plan, id_at<OpId>(7)), Phase::kUpdate);
  EXPECT_THAT(run.said, ElementsAre(HasSubstr("1 rank, 2 steps: 8 kernels and copies, 2 of")));
}

TEST(KinetoImport, RanksMeetWhenTheLastHasCome) {
  const ImportedRun run = imported({two_step_file(1, 7), two_step_file(0)});
  const std::vector<std::string> all = rows(run);
  ASSERT_EQ(all.size(), 36U);
  // Rank 0's kernel ran from 60 on and waited for rank 1, which came at 67.
  EXPECT_THAT(all, Contains("step7/all_reduce/0@rank0 collective 60 67 80"));
  EXPECT_THAT(all, Contains("step7/all_reduce/0@rank1 collective 67 67 80"));
  EXPECT_EQ(run.plan.instance_ops(InstanceId{0}).size(), 2U);
}

TEST(KinetoImport, ClocksThatDifferAreLaidTogether) {
  std::string later = two_step_file(1);
  const std::string base = R"({"schemaVersion":1,"baseTimeNanoseconds":5000000000,)";
  later.replace(0, std::string(R"({"schemaVersion":1,)").size(), base);
  const ImportedRun run = imported({two_step_file(0), later});
  EXPECT_THAT(run.said, Contains(HasSubstr("clocks of the ranks differ")));
  EXPECT_THAT(rows(run), Contains("step7/all_reduce/0@rank1 collective 50 60 80"));
}

TEST(KinetoImport, WhatWasLaunchedInNoStepIsLeftOut) {
  std::string text = two_step_file(0);
  const std::string stray = launch(99, 1, 500) + "," + kernel(99, "warm_up", 7, 501, 3) + ",";
  text.insert(text.find('[', text.find("traceEvents")) + 1, stray);
  const ImportedRun run = imported({text});
  EXPECT_EQ(run.plan.size(), 18U);
  EXPECT_THAT(run.said, Contains("1 were launched in no step and are left out"));
}

TEST(KinetoImport, WithoutStepsAllIsOne) {
  const std::string text = R"({"traceEvents":[)" + kernel(1, "a<int>()", 7, 10, 5) + "," +
                           kernel(2, "b", 7, 20, 5) + "]}";
  const ImportedRun run = imported({text});
  EXPECT_THAT(rows(run), ElementsAre("step0/forward/0000-a@rank0 compute 0 0 5",
                                     "step0/forward/0001-b@rank0 compute 10 10 15"));
}

TEST(KinetoImport, NcclWithoutSizesIsStillACollective) {
  const std::string text =
      R"([)" + kernel(1, "ncclKernel_ReduceScatter_RING_LL_Sum_float()", 20, 10, 5) + "]";
  const ImportedRun run = imported({text});
  EXPECT_EQ(run.plan.shape(OpId{0}).kind, CollectiveKind::kReduceScatter);
  EXPECT_THAT(run.said, Contains(HasSubstr("1 of communication have no size")));
}

TEST(KinetoImport, SendsWithoutTheirRecvCanBeCompared) {
  const std::string text =
      R"({"distributedInfo":{"rank":0,"world_size":2},"traceEvents":[)" +
      slice(
          "kernel", "ncclDevKernel_SendRecv", 20, 10, 5,
          R"("correlation":1,"Collective name":"send","In msg nelems":8,"Out msg nelems":8,"Group size":2,"dtype":"Float","Dst Rank":1)") +
      "]}";
  const ImportedRun run = imported({text});
  EXPECT_EQ(run.plan.kind(OpId{0}), OpKind::kSend);
  EXPECT_EQ(run.plan.message(OpId{0}).bytes, Bytes{32});
  const ComparedRun compared{{run.plan, run.trace, 0}};
  EXPECT_EQ(compare(compared, compared).step_difference_s, 0);
}

// ---- reading

std::vector<std::string> complaints(const std::vector<std::string>& texts) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    sources.push_back(Source::of_text("rank" + std::to_string(i) + ".json", texts[i]));
  }
  Diagnostics diagnostics;
  read_kineto_ranks(sources, diagnostics);
  std::vector<std::string> codes;
  for (const Diagnostic& one : diagnostics.all()) {
    codes.push_back(one.code);
  }
  return codes;
}

TEST(KinetoFile, TimesAreExact) {
  Diagnostics diagnostics;
  const auto file = read_kineto(Source::of_text("t", R"({"traceEvents":[
        {"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":4458676522690.655,"dur":41.4},
        {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":12,"dur":0.001},
        {"ph":"X","cat":"kernel","name":"c","pid":0,"tid":7,"ts":1.5e3,"dur":2.0000001}]})"),
                                diagnostics);
  ASSERT_TRUE(file);
  ASSERT_EQ(file->slices.size(), 3U);
  EXPECT_EQ(file->slices[0].start_ns, 4458676522690655);
  EXPECT_EQ(file->slices[0].end_ns, 4458676522690655 + 41400);
  EXPECT_EQ(file->slices[1].start_ns, 12000);
  EXPECT_EQ(file->slices[1].end_ns, 12001);
  EXPECT_EQ(file->slices[2].start_ns, 1500000);
  EXPECT_EQ(file->slices[2].end_ns, 1502000);
}

TEST(KinetoFile, WhatIsNoTraceIsRefused) {
  EXPECT_THAT(complaints({"{}"}), ElementsAre("E0811"));
  EXPECT_THAT(complaints({"3"}), ElementsAre("E0811"));
  EXPECT_THAT(complaints({R"({"traceEvents": 3})"}), ElementsAre("E0811"));
  EXPECT_THAT(complaints({""}), ElementsAre("E0102"));
  EXPECT_THAT(complaints({two_step_file(1), two_step_file(1)}), ElementsAre("E0812"));
  EXPECT_TRUE(is_kineto(Source::of_text("t", two_step_file(0))));
  EXPECT_FALSE(is_kineto(Source::of_text("t", R"({"ops": []})")));
  EXPECT_FALSE(is_kineto(Source::of_text("t", "[")));
}

TEST(KinetoFile, CutShortIsRefusedAnywhere) {
  const std::string text = two_step_file(0);
  for (std::size_t size = 1; size < text.size(); size += 7) {
    EXPECT_THAT(complaints({text.substr(0, size)}), ElementsAre("E0102")) << size;
  }
}

// Keys of wrong types, missing or absurd: the event is left out, or the key.
TEST(KinetoFile, OddEventsDoNoHarm) {
  for (const char* event : {
           R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1.0})",
           R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"dur":1.0})",
           R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":"x","ts":1.0,"dur":1.0})",
           R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1.0,"dur":-1.0})",
           R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1e300,"dur":1.0})",
           R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":"1","dur":[1]})",
       }) {
    const ImportedRun run = imported({R"({"traceEvents":[)" + std::string(event) + "]}"});
    EXPECT_EQ(run.plan.size(), 0U) << event;
    EXPECT_THAT(run.said, Contains(HasSubstr("1 events of"))) << event;
  }
  for (const char* event :
       {"3", "[]", "{}", R"({"ph":"X"})", R"({"ph":"C","name":"memory","ts":1,"args":{"x":1}})",
        R"({"ph":"M","name":"thread_name","args":{"name":3}})", R"({"args":7,"ph":null})"}) {
    EXPECT_EQ(imported({R"({"traceEvents":[)" + std::string(event) + "]}"}).plan.size(), 0U);
  }
  const ImportedRun odd = imported(
      {R"({"traceEvents":[)" +
       slice(
           "kernel", "nccl", 20, 1, 1,
           R"("Collective name":"allreduce","In msg nelems":"x","Out msg nelems":[1],"Group size":{},"dtype":7,"Process Group Ranks":"[0, 1, ...]")") +
       "]}"});
  EXPECT_EQ(odd.plan.collective(OpId{0}).bytes, Bytes{0});
}

// ---- files of our own

TEST(KinetoImport, GivesBackWhatWeWrote) {
  const ExampleRun run = two_steps();
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < run.plan.device_count(); ++rank) {
    std::string& text = texts.emplace_back();
    write_kineto(run.plan, run.trace, id_at<DeviceId>(rank), {},
                 [&](std::string_view piece) { text += piece; });
  }
  const ImportedRun back = imported(texts);
  ASSERT_EQ(back.plan.size(), run.plan.size());
  EXPECT_EQ(back.trace.source, "simulated");
  EXPECT_EQ(back.plan.text().name, run.plan.text().name);
  const auto ns = [](Time time) { return Time{to_nanoseconds(time) * 1000}; };
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const std::string id(run.plan.id(op));
    const OpId other = back.plan.find(id).value();
    const OpTimes& before = run.trace.ops[i];
    const OpTimes& after = back.trace.ops[index_of(other)];
    EXPECT_EQ(after.start, ns(before.start)) << id;
    EXPECT_EQ(after.end, ns(before.end)) << id;
    EXPECT_EQ(after.ready, ns(before.ready)) << id;
    EXPECT_EQ(back.plan.kind(other), run.plan.kind(op)) << id;
    EXPECT_EQ(back.plan.device_name(back.plan.device(other)),
              run.plan.device_name(run.plan.device(op)));
  }
  const OpId grads = back.plan.find("step0/grads@gpu0").value();
  EXPECT_EQ(back.plan.collective(grads).bytes, Bytes{4000});
  EXPECT_EQ(back.trace.collectives.at(0), run.trace.collectives.at(0));
  EXPECT_EQ(back.plan.compute(back.plan.find("step0/forward@gpu0").value()).flops, 3e9);
  const OpId copy = back.plan.find("step1/weights").value();
  EXPECT_EQ(back.plan.copy(copy).bytes, Bytes{8000});
  EXPECT_EQ(back.plan.device_name(back.plan.copy(copy).to), "node1/cpu0");
  const OpId send = back.plan.find("step0/act@gpu0").value();
  EXPECT_EQ(back.plan.message(send).partner, back.plan.find("step0/act@gpu1").value());
}

TEST(KinetoImport, TellsWhatAFileOfOursHasLeftOut) {
  const ExampleRun run = random_run(3, true, 2000);
  TraceWriteOptions options;
  options.most_bytes = 60'000;
  std::string text;
  const TraceWriteCounts counts = write_kineto(run.plan, run.trace, DeviceId{0}, options,
                                               [&](std::string_view piece) { text += piece; });
  ASSERT_GT(counts.beyond_cap, 0);
  EXPECT_THAT(imported({text}).said,
              Contains(HasSubstr("without " + std::to_string(counts.beyond_cap) + " ops")));
}

// ---- a real trace: ResNet-50 on two A100

class RealTrace : public ::testing::Test {
 protected:
  static std::string shared(const std::string& what) {
    const char* const set = std::getenv("TWINRUN_FIXTURES");
    return (set != nullptr ? std::string(set) + "/.."
                           : std::string(TWINRUN_TEST_ROOT) + "/../shared") +
           what;
  }
  void SetUp() override {
    const std::string file = shared("/fixtures/kineto_ddp_resnet50_2xa100.json.gz");
    const std::string measured = shared("/measured/trace_ddp_resnet50_2xa100.json");
    if (!std::filesystem::exists(file) || !std::filesystem::exists(measured)) {
      GTEST_SKIP() << "no " << file << " or " << measured;
    }
    Diagnostics diagnostics;
    files_ = read_kineto_ranks({Source::of_file(file)}, diagnostics);
    ASSERT_EQ(files_.size(), 1U);
    expected_ = nlohmann::json::parse(Source::of_file(measured).text())["rows"];
  }

  std::vector<KinetoFile> files_;
  nlohmann::json expected_;
};

double ms(Time time) { return static_cast<double>(time.ps) / 1e9; }

TEST_F(RealTrace, BucketsAndTheirTimesAreThoseOfTheTable) {
  const ImportedRun run = import_kineto(files_);
  // The table rounds to microseconds; its steps begin with their annotations, as ours do.
  const auto times = [&](const std::string& id) {
    const auto op = run.plan.find(id);
    EXPECT_TRUE(op) << id;
    return run.trace.ops[index_of(*op)];
  };
  std::map<int, Time> begin;
  Time last{};
  for (const int step : {4, 5, 6}) {
    begin[step] = last;
    last = times("step" + std::to_string(step) + "/end@rank0").end;
  }
  int buckets = 0;
  for (const auto& row : expected_) {
    const int step = row["step"];
    const std::string at = "step" + std::to_string(step) + "/";
    if (row.contains("bucket")) {
      const std::string id =
          at + "all_reduce/" + std::to_string(row["bucket"].get<int>()) + "@rank0";
      const OpTimes reduce = times(id);
      EXPECT_NEAR(ms(reduce.start - begin[step]), row["allreduce_start_ms"], 0.0011) << id;
      EXPECT_NEAR(ms(reduce.end - reduce.start), row["allreduce_ms"], 0.0011) << id;
      EXPECT_EQ(run.plan.collective(*run.plan.find(id)).bytes.count,
                4 * row["floats"].get<std::int64_t>());
      ++buckets;
      continue;
    }
    const OpTimes forward = times(at + "host/forward@rank0");
    const OpTimes backward = times(at + "host/backward@rank0");
    const OpTimes update = times(at + "host/update@rank0");
    EXPECT_NEAR(ms(forward.end - forward.start), row["host_forward_ms"], 0.0011);
    EXPECT_NEAR(ms(backward.end - backward.start), row["host_backward_ms"], 0.0011);
    EXPECT_NEAR(ms(backward.start - begin[step]), row["backward_starts_ms"], 0.0011);
    EXPECT_NEAR(ms(update.end - update.start), row["host_optimizer_ms"], 0.0011);
    // A step lasts until the next begins, up to a tenth of a millisecond after its annotation.
    const double step_ms = ms(times(at + "end@rank0").end - begin[step]);
    EXPECT_GE(step_ms, row["step_ms"].get<double>() - 0.0011);
    EXPECT_LE(step_ms, row["step_ms"].get<double>() + 0.1);
  }
  EXPECT_EQ(buckets, 15);
}

TEST_F(RealTrace, ComputeKernelsAddUpToTheTable) {
  const ImportedRun run = import_kineto(files_);
  for (const auto& row : expected_) {
    if (row.contains("bucket")) {
      continue;
    }
    const std::string at = "step" + std::to_string(row["step"].get<int>()) + "/";
    int kernels = 0;
    double sum = 0;
    for (std::size_t i = 0; i < run.plan.size(); ++i) {
      const auto op = id_at<OpId>(i);
      const std::string_view id = run.plan.id(op);
      const bool is_copy = id.find("-memcpy@") != std::string_view::npos ||
                           id.find("-memset@") != std::string_view::npos;
      if (run.plan.kind(op) == OpKind::kCompute && id.starts_with(at) && !is_copy) {
        ++kernels;
        sum += ms(run.trace.ops[i].end - run.trace.ops[i].start);
      }
    }
    EXPECT_EQ(kernels, row["compute_kernels"]) << at;
    EXPECT_NEAR(sum, row["sum_compute_kernels_ms"], 0.001) << at;
  }
}

TEST_F(RealTrace, EveryPhaseHasKernels) {
  const ImportedRun run = import_kineto(files_);
  std::map<Phase, int> ops;
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    ++ops[phase_of(run.plan, id_at<OpId>(i))];
  }
  EXPECT_GT(ops[Phase::kForward], 3 * 53) << "a kernel a convolution and step at least";
  EXPECT_GT(ops[Phase::kBackward], ops[Phase::kForward]);
  EXPECT_GT(ops[Phase::kUpdate], 0);
  EXPECT_EQ(ops[Phase::kCommunication], 15 + 6);  // five buckets, two broadcasts, three steps
  EXPECT_EQ(ops[Phase::kHost], 9);
}

// The plan that a job of the same model and strategy compiles to has the same five buckets in the
// same order, and each meets its own.
TEST_F(RealTrace, BucketsOfTheSimulatedJobAreFoundInIt) {
  const JobReading job = read_job_text(
      R"({"model": "resnet50", "topology": "dgx-a100:gpus=2", "training": {"local_batch_size": 32},
          "parallelism": {"strategy": "ddp"}})");
  Diagnostics diagnostics;
  const Topology topology = build_topology(job.loaded.topology, diagnostics);
  const auto compiled = compile(job.job(), job.loaded.model, topology, {}, diagnostics);
  ASSERT_TRUE(compiled);
  const Trace simulated = sim::simulate(compiled->plan, topology).trace;
  const ImportedRun run = import_kineto(files_);
  const Comparison both =
      compare({{compiled->plan, simulated, compiled->warmup_steps}}, {{run.plan, run.trace, 0}});
  std::vector<const CollectiveDifference*> reduces;
  for (const CollectiveDifference& one : both.collectives) {
    if (one.kind == CollectiveKind::kAllReduce) {
      reduces.push_back(&one);
    }
  }
  ASSERT_EQ(reduces.size(), 5U);
  for (std::size_t bucket = 0; bucket < 5; ++bucket) {
    const CollectiveDifference& one = *reduces[bucket];
    double start = 0;
    double time = 0;
    for (const auto& row : expected_) {
      if (row.value("bucket", -1) == static_cast<int>(bucket)) {
        EXPECT_EQ(one.bytes, 4 * row["floats"].get<std::int64_t>());
        start += row["allreduce_start_ms"].get<double>() / 3;
        time += row["allreduce_ms"].get<double>() / 3;
      }
    }
    EXPECT_EQ(one.joined_by, JoinedBy::kOrderAndSize);
    EXPECT_EQ(one.a->name, "all_reduce/bucket" + std::to_string(bucket) + "-s0t0");
    EXPECT_EQ(one.b->name, "all_reduce/" + std::to_string(bucket));
    EXPECT_NEAR(one.b->start_s * 1e3, start, 0.0011);
    EXPECT_NEAR(one.b->time_s * 1e3, time, 0.0011);
  }
  EXPECT_LT(both.joined_path_share, 0.5) << "its kernels are not our layers";
}

}  // namespace
}  // namespace twinrun
