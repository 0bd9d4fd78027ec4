#include "core/trace/perfetto.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/trace/example_runs.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A reader of protocol buffers that shares nothing with the writer.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  // varint or eight bytes
  std::string_view bytes;
};

std::uint64_t take_varint(std::string_view& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(in.at(0));
    in.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 128) {
      return value;
    }
  }
}

std::vector<Field> fields_of(std::string_view in) {
  std::vector<Field> fields;
  while (!in.empty()) {
    const std::uint64_t key = take_varint(in);
    Field field{key / 8, 0, {}};
    if (key % 8 == 0) {
      field.value = take_varint(in);
    } else if (key % 8 == 1) {
      for (unsigned i = 0; i < 8; ++i) {
        field.value |= std::uint64_t{static_cast<unsigned char>(in.at(i))} << (8 * i);
      }
      in.remove_prefix(8);
    } else if (key % 8 == 2) {
      const std::uint64_t size = take_varint(in);
      EXPECT_LE(size, in.size());
      field.bytes = in.substr(0, size);
      in.remove_prefix(size);
    } else {
      ADD_FAILURE() << "wire type " << key % 8;
      return fields;
    }
    fields.push_back(field);
  }
  return fields;
}

Field first(const std::vector<Field>& fields, std::uint64_t number) {
  for (const Field& field : fields) {
    if (field.number == number) {
      return field;
    }
  }
  return {};
}

struct DecodedSlice {
  std::uint64_t track = 0;
  std::string name;
  std::string category;
  std::map<std::string, std::string> texts;  // annotations
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t flow = 0;
  std::uint64_t last_of_flow = 0;
};
struct Count {
  std::uint64_t track = 0;
  std::uint64_t at = 0;
  double value = 0;
};
struct Track {
  std::string name;
  std::uint64_t parent = 0;
  std::uint64_t pid = 0;
  std::uint64_t tid = 0;
};

class PerfettoFile {
 public:
  explicit PerfettoFile(const ExampleRun& run, const TraceWriteOptions& options = {}) {
    counts_ = write_perfetto(run.plan, run.trace, options, [&](std::string_view piece) {
      bytes_ += piece;
      largest_piece_ = std::max(largest_piece_, piece.size());
    });
    for (const Field& packet : fields_of(bytes_)) {
      EXPECT_EQ(packet.number, 1U);
      read_packet(fields_of(packet.bytes));
    }
    EXPECT_TRUE(open_.empty());
  }

  [[nodiscard]] const TraceWriteCounts& counts() const { return counts_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] std::size_t largest_piece() const { return largest_piece_; }
  [[nodiscard]] const std::map<std::uint64_t, Track>& tracks() const { return tracks_; }
  [[nodiscard]] const std::vector<DecodedSlice>& slices() const { return slices_; }
  [[nodiscard]] const std::vector<Count>& values() const { return values_; }
  [[nodiscard]] std::string where(std::uint64_t track) const {
    const Track& one = tracks_.at(track);
    return tracks_.at(one.parent).name + "/" + one.name;
  }

 private:
  void read_packet(const std::vector<Field>& packet) {
    EXPECT_EQ(first(packet, 10).value, 1U);
    EXPECT_EQ(first(packet, 13).value, is_first_ ? 1U : 2U);
    is_first_ = false;
    read_interned(fields_of(first(packet, 12).bytes));
    if (const Field track = first(packet, 60); track.number != 0) {
      read_track(fields_of(track.bytes));
    }
    if (const Field event = first(packet, 11); event.number != 0) {
      read_event(fields_of(event.bytes), first(packet, 8).value);
    }
  }
  void read_interned(const std::vector<Field>& data) {
    for (const Field& field : data) {
      const auto entry = fields_of(field.bytes);
      const bool is_new =
          interned_[field.number].emplace(first(entry, 1).value, first(entry, 2).bytes).second;
      EXPECT_TRUE(is_new);
    }
  }
  void read_track(const std::vector<Field>& track) {
    const auto process = fields_of(first(track, 3).bytes);
    const auto thread = fields_of(first(track, 4).bytes);
    Track one{std::string(first(track, 2).bytes), first(track, 5).value, 0, 0};
    if (!process.empty()) {
      one.name = first(process, 6).bytes;
      one.pid = first(process, 1).value;
    }
    if (!thread.empty()) {
      one.name = first(thread, 5).bytes;
      one.pid = first(thread, 1).value;
      one.tid = first(thread, 2).value;
    }
    EXPECT_TRUE(tracks_.emplace(first(track, 1).value, one).second);
  }
  void read_event(const std::vector<Field>& event, std::uint64_t at) {
    const std::uint64_t track = first(event, 11).value;
    EXPECT_TRUE(tracks_.contains(track));
    switch (first(event, 9).value) {
      case 1:
        open_[track].push_back(slices_.size());
        slices_.push_back(read_slice(event, track, at));
        break;
      case 2:
        ASSERT_TRUE(open_.contains(track));
        slices_[open_[track].back()].end = at;
        open_.erase(track);
        break;
      case 4: {
        const Field real = first(event, 44);
        const auto whole = static_cast<double>(static_cast<std::int64_t>(first(event, 30).value));
        values_.push_back(
            {track, at, real.number != 0 ? std::bit_cast<double>(real.value) : whole});
        break;
      }
      default:
        ADD_FAILURE() << "type of event";
    }
  }
  DecodedSlice read_slice(const std::vector<Field>& event, std::uint64_t track, std::uint64_t at) {
    DecodedSlice slice;
    slice.track = track;
    slice.start = at;
    slice.name = first(event, 10).value != 0 ? interned_[2].at(first(event, 10).value)
                                             : std::string(first(event, 23).bytes);
    slice.category = interned_[1].at(first(event, 3).value);
    slice.flow = first(event, 47).value;
    slice.last_of_flow = first(event, 48).value;
    for (const Field& field : event) {
      if (field.number == 4) {
        const auto annotation = fields_of(field.bytes);
        slice.texts[interned_[3].at(first(annotation, 1).value)] = first(annotation, 6).bytes;
      }
    }
    return slice;
  }

  std::string bytes_;
  TraceWriteCounts counts_;
  std::size_t largest_piece_ = 0;
  bool is_first_ = true;
  std::map<std::uint64_t, std::map<std::uint64_t, std::string>> interned_;
  std::map<std::uint64_t, Track> tracks_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
  std::vector<DecodedSlice> slices_;
  std::vector<Count> values_;
};

using Times = std::pair<std::uint64_t, std::uint64_t>;

std::map<std::string, Times> times_by_op(const PerfettoFile& file) {
  std::map<std::string, Times> times;
  for (const DecodedSlice& slice : file.slices()) {
    EXPECT_TRUE(times.emplace(slice.texts.at("op"), Times(slice.start, slice.end)).second);
  }
  return times;
}

TEST(Perfetto, WritesEachOpOnceWithItsTimesToTheNanosecond) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const ExampleRun run = random_run(seed, seed % 2 == 0, 300);
    std::map<std::string, Times> expected;
    for (std::size_t i = 0; i < run.plan.size(); ++i) {
      const OpTimes& times = run.trace.ops[i];
      if (times.end >= times.start) {
        expected[std::string(run.plan.id(id_at<OpId>(i)))] = {
            std::llround(static_cast<double>(times.start.ps) / 1000),
            std::llround(static_cast<double>(times.end.ps) / 1000)};
      }
    }
    const PerfettoFile file(run);
    ASSERT_EQ(times_by_op(file), expected) << seed;
    ASSERT_EQ(file.counts().written, static_cast<std::int64_t>(expected.size()));
    ASSERT_EQ(file.counts().written + file.counts().not_run, 300);
    ASSERT_EQ(file.counts().bytes, static_cast<std::int64_t>(file.size()));
    std::map<std::uint64_t, std::uint64_t> busy_until;
    for (const DecodedSlice& slice : file.slices()) {
      ASSERT_GE(slice.start, busy_until[slice.track]);
      busy_until[slice.track] = slice.end;
    }
  }
}

TEST(Perfetto, PutsStreamsUnderRanksAndPointsFromSendToRecv) {
  const PerfettoFile file(two_steps());
  std::vector<std::string> found;
  for (const DecodedSlice& slice : file.slices()) {
    std::ostringstream line;
    line << file.where(slice.track) << ": " << slice.category << ' ' << slice.name << ' '
         << slice.start << '-' << slice.end << " flow " << slice.flow << ' ' << slice.last_of_flow;
    found.push_back(line.str());
  }
  const std::string gpu0 = "rank 0 · node0/gpu0/";
  const std::string gpu1 = "rank 1 · node1/gpu0/";
  EXPECT_THAT(
      found, UnorderedElementsAre(
                 gpu0 + "compute stream: kernel forward 0-20000 flow 0 0",
                 "rank 2 · node1/cpu0/host stream: cpu_op load 0-15000 flow 0 0",
                 gpu0 + "nccl: kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL 20000-45000 flow 0 0",
                 gpu1 + "nccl: kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL 20000-45000 flow 0 0",
                 gpu0 + "nccl (pp): kernel ncclDevKernel_SendRecv 20000-30000 flow 4 0",
                 gpu1 + "nccl (pp): kernel ncclDevKernel_SendRecv 20000-30000 flow 0 4",
                 gpu0 + "compute stream: kernel forward 45000-60000 flow 0 0",
                 gpu0 + "compute stream: user_annotation done 60000-60000 flow 0 0",
                 gpu0 + "h2d / d2h: gpu_memcpy Memcpy DtoH (node0/gpu0 -> node1/cpu0) 45000-65000 "
                        "flow 0 0"));
}

TEST(Perfetto, CountsMemoryAndTheUseOfLinks) {
  const PerfettoFile file(two_steps());
  std::vector<std::string> found;
  for (const Count& count : file.values()) {
    std::ostringstream line;
    line << file.where(count.track) << ' ' << count.at << ' ' << count.value;
    found.push_back(line.str());
  }
  EXPECT_THAT(found,
              ElementsAre("fabric/gpu0 -> nvswitch0 0 25.5", "fabric/gpu0 -> nvswitch0 65000 25.5",
                          "rank 0 · node0/gpu0/memory parameters 0 1000",
                          "rank 0 · node0/gpu0/memory activations 20000 500",
                          "rank 0 · node0/gpu0/memory activations 45000 0"));
}

TEST(Perfetto, NumbersOfProcessesAndThreadsNeverMeet) {
  const PerfettoFile file(random_run(1, false, 500));
  std::set<std::uint64_t> numbers;
  for (const auto& [uuid, track] : file.tracks()) {
    const std::uint64_t number = track.tid != 0 ? track.tid : track.pid;
    EXPECT_TRUE(number == 0 || numbers.insert(number).second) << number;
  }
}

TEST(Perfetto, ReachingTheCapKeepsTheEarliest) {
  const ExampleRun run = random_run(11, true, 5000);
  const PerfettoFile whole(run);
  const auto cap = static_cast<std::int64_t>(whole.size()) / 3;
  const PerfettoFile file(run, {.most_bytes = cap});
  EXPECT_LE(file.counts().bytes, cap);
  EXPECT_GT(file.counts().bytes, cap - 1000);
  EXPECT_EQ(file.counts().written + file.counts().beyond_cap, whole.counts().written);
  EXPECT_EQ(file.slices().size(), static_cast<std::size_t>(file.counts().written));
  for (std::size_t i = 0; i < file.slices().size(); ++i) {
    EXPECT_EQ(file.slices()[i].texts.at("op"), whole.slices()[i].texts.at("op"));
  }
  EXPECT_TRUE(std::is_sorted(
      whole.slices().begin(), whole.slices().end(),
      [](const DecodedSlice& a, const DecodedSlice& b) { return a.start < b.start; }));
}

TEST(Perfetto, WritesTheChosenRanksAndSteps) {
  const PerfettoFile file(two_steps(), {.ranks = {DeviceId{1}, DeviceId{2}}, .steps = {0}});
  EXPECT_EQ(file.counts().written, 3);
  EXPECT_EQ(file.counts().not_chosen, 6);
}

TEST(Perfetto, HandsOutSmallPieces) {
  EXPECT_LT(PerfettoFile(random_run(13, true, 20000)).largest_piece(), 70'000U);
}

}  // namespace
}  // namespace twinrun
