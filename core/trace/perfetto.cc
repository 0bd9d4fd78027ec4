#include "core/trace/perfetto.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/string_table.h"
#include "core/trace/capped_output.h"
#include "core/trace/memory_levels.h"
#include "core/trace/protobuf.h"
#include "core/trace/slice_text.h"
#include "core/trace/trace_rows.h"

namespace twinrun {
namespace {

// Field numbers of Perfetto's messages, by message.
namespace packet {
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12,
                        kSequenceFlags = 13, kTrackDescriptor = 60, kFirstOnSequence = 87;
constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;
}  // namespace packet
namespace track {
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8,
                        kSiblingRank = 12, kProcessOrdering = 19, kThreadOrdering = 20;
constexpr std::uint64_t kExplicit = 1;
}  // namespace track
namespace process {
constexpr std::uint32_t kPid = 1, kName = 6, kLabels = 8;
}  // namespace process
namespace thread {
constexpr std::uint32_t kPid = 1, kTid = 2, kName = 5;
}  // namespace thread
namespace counter {
constexpr std::uint32_t kUnit = 3, kUnitName = 6;
constexpr std::uint64_t kBytes = 3;
}  // namespace counter
namespace event {
constexpr std::uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11,
                        kNameText = 23, kCounter = 30, kRealCounter = 44, kFlow = 47,
                        kLastOfFlow = 48, kCorrelation = 52;
constexpr std::uint64_t kBegin = 1, kEnd = 2, kCount = 4;
}  // namespace event
namespace annotation {
constexpr std::uint32_t kName = 1, kInteger = 4, kReal = 5, kText = 6;
}  // namespace annotation
namespace interned {
constexpr std::uint32_t kCategories = 1, kEventNames = 2, kAnnotationNames = 3;
constexpr std::uint32_t kIid = 1, kText = 2;
}  // namespace interned

// Track ids: rows are small because every event carries one; the rest lies above them.
constexpr std::uint64_t kProcessTracks = std::uint64_t{1} << 40;
constexpr std::uint64_t kMemoryTracks = std::uint64_t{2} << 40;
constexpr std::uint64_t kMachineTracks = std::uint64_t{3} << 40;
constexpr std::uint64_t kLinkTracks = std::uint64_t{4} << 40;
constexpr std::uint64_t kFabricTrack = std::uint64_t{5} << 40;
constexpr std::uint64_t kNotInterned = 0;
// Names beyond these are written out in each event, so that a plan without repetition does not
// fill the memory with names.
constexpr std::size_t kMostInterned = 200'000;
constexpr std::int64_t kLinksShare = 10;  // links take at most a tenth of the cap

std::uint64_t timestamp_of(Time time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(to_nanoseconds(time), 0));
}

std::vector<DeviceId> chosen_ranks(const Plan& plan, const TraceWriteOptions& options) {
  std::vector<DeviceId> ranks = options.ranks;
  if (ranks.empty()) {
    for (std::size_t i = 0; i < plan.device_count(); ++i) {
      ranks.push_back(id_at<DeviceId>(i));
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// Perfetto's pids and tids are numbers of one machine: none may be 0 (the idle task), and no tid
// may equal another process's pid. So process r has all numbers from (r + 1) · stride on.
std::int64_t number_stride(const std::vector<TraceRow>& rows) {
  std::int64_t stride = 1000;
  for (const TraceRow& row : rows) {
    while (row.tid + 1 >= stride) {
      stride *= 10;
    }
  }
  return stride;
}

class PerfettoWriter {
 public:
  PerfettoWriter(const Plan& plan,
                 const Trace& trace,
                 const TraceWriteOptions& options,
                 const TraceSink& sink)
      : plan_(plan),
        trace_(trace),
        options_(options),
        ranks_(chosen_ranks(plan, options)),
        rows_(trace_rows(plan, trace, ranks_)),
        stride_(number_stride(rows_)),
        out_(sink, options.most_bytes),
        memory_(plan.device_count()) {}

  TraceWriteCounts run() {
    write_order();
    write_processes();
    write_threads();
    write_links();
    write_slices();
    out_.flush();
    counts_.bytes = out_.bytes();
    return counts_;
  }

 private:
  void begin_packet();
  void end_packet() { packets_.message(1, packet_); }
  bool finish_packets();
  void write_descriptor(const ProtoMessage& descriptor);
  [[nodiscard]] std::uint64_t pid_of(DeviceId rank) const {
    return (index_of(rank) + 1) * static_cast<std::uint64_t>(stride_);
  }

  void write_order();
  void write_processes();
  void write_threads();
  void write_links();
  void write_link(std::size_t link);
  void write_slices();
  void write_slice(OpId op, std::uint32_t row);
  void write_end(OpId op, std::uint32_t row);
  void add_annotations(OpId op);
  void add_communication(OpId op);
  void add_links_between_slices(OpId op);
  void write_memory(const TraceTimeline::Point& point, MemoryLevels::Parts changed);
  void describe_memory(DeviceId device, std::size_t part);
  void write_count(std::uint64_t uuid, std::uint64_t at, std::int64_t value);

  std::uint64_t intern(StringTable& table, std::uint32_t kind, std::string_view text);
  void add_annotation(std::string_view name, std::string_view value);
  void add_annotation(std::string_view name, std::int64_t value);
  void add_annotation(std::string_view name, double value);
  ProtoMessage named_annotation(std::string_view name);

  const Plan& plan_;
  const Trace& trace_;
  const TraceWriteOptions& options_;
  std::vector<DeviceId> ranks_;
  std::vector<TraceRow> rows_;
  std::int64_t stride_;
  CappedOutput out_;
  TraceWriteCounts counts_;
  std::vector<MemoryLevels> memory_;  // by device
  StringTable categories_;
  StringTable names_;
  StringTable annotation_names_;
  ProtoMessage packets_;  // what is written together or not at all
  ProtoMessage packet_;
  ProtoMessage event_;
  ProtoMessage interned_;  // names that the packet at hand is the first to use
  bool is_first_ = true;
  bool is_full_ = false;
};

void PerfettoWriter::begin_packet() {
  packet_.clear();
  packet_.number(packet::kSequence, 1);
  packet_.number(packet::kSequenceFlags, is_first_ ? packet::kStateCleared : packet::kNeedsState);
  if (is_first_) {
    packet_.number(packet::kFirstOnSequence, 1);
    is_first_ = false;
  }
}

bool PerfettoWriter::finish_packets() {
  is_full_ = is_full_ || !out_.fits(packets_.bytes().size());
  if (!is_full_) {
    out_.append(packets_.bytes());
  }
  packets_.clear();
  return !is_full_;
}

void PerfettoWriter::write_descriptor(const ProtoMessage& descriptor) {
  begin_packet();
  packet_.message(packet::kTrackDescriptor, descriptor);
  end_packet();
  finish_packets();
}

// Processes and threads in the order we give, not by name.
void PerfettoWriter::write_order() {
  ProtoMessage descriptor;
  descriptor.number(track::kUuid, 0);
  descriptor.number(track::kProcessOrdering, track::kExplicit);
  descriptor.number(track::kThreadOrdering, track::kExplicit);
  write_descriptor(descriptor);
}

void PerfettoWriter::write_processes() {
  StringTable machines;
  for (const DeviceId rank : ranks_) {
    const std::string_view machine = machine_of(plan_.device_name(rank));
    const std::size_t known = machines.size();
    const std::uint64_t machine_track = kMachineTracks + machines.intern(machine);
    if (!machine.empty() && machines.size() > known) {
      ProtoMessage group;
      group.number(track::kUuid, machine_track);
      group.text(track::kName, machine);
      write_descriptor(group);
    }
    const std::size_t index = index_of(rank);
    const auto& models = options_.device_models;
    ProtoMessage one;
    one.number(process::kPid, pid_of(rank));
    one.text(process::kName,
             process_name(plan_, rank, index < models.size() ? models[index] : std::string_view()));
    ProtoMessage descriptor;
    descriptor.number(track::kUuid, kProcessTracks + index);
    descriptor.number(track::kSiblingRank, index);
    if (!machine.empty()) {
      one.text(process::kLabels, machine);
      descriptor.number(track::kParent, machine_track);
    }
    descriptor.message(track::kProcess, one);
    write_descriptor(descriptor);
  }
}

void PerfettoWriter::write_threads() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const TraceRow& row = rows_[i];
    ProtoMessage one;
    one.number(thread::kPid, pid_of(row.device));
    one.number(thread::kTid, pid_of(row.device) + 1 + static_cast<std::uint64_t>(row.tid));
    one.text(thread::kName, row.name);
    ProtoMessage descriptor;
    descriptor.number(track::kUuid, i + 1);
    descriptor.number(track::kParent, kProcessTracks + index_of(row.device));
    descriptor.number(track::kSiblingRank, static_cast<std::uint64_t>(row.tid));
    descriptor.message(track::kThread, one);
    write_descriptor(descriptor);
  }
}

// The busiest first, because a large fabric has more links than a file has room for.
void PerfettoWriter::write_links() {
  std::vector<std::uint32_t> links;
  for (std::size_t i = 0; i < trace_.links.size(); ++i) {
    if (trace_.links[i].bytes > 0 && std::isfinite(trace_.links[i].busy_pct)) {
      links.push_back(static_cast<std::uint32_t>(i));
    }
  }
  if (links.empty()) {
    return;
  }
  std::stable_sort(links.begin(), links.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace_.links[a].busy_pct > trace_.links[b].busy_pct;
  });
  ProtoMessage fabric;
  fabric.number(process::kPid, (plan_.device_count() + 1) * static_cast<std::uint64_t>(stride_));
  fabric.text(process::kName, "fabric");
  ProtoMessage descriptor;
  descriptor.number(track::kUuid, kFabricTrack);
  descriptor.number(track::kSiblingRank, plan_.device_count());
  descriptor.message(track::kProcess, fabric);
  write_descriptor(descriptor);
  const std::int64_t most = out_.bytes() + options_.most_bytes / kLinksShare;
  for (const std::uint32_t link : links) {
    if (out_.bytes() < most) {
      write_link(link);
    } else {
      ++counts_.links_beyond_cap;
    }
  }
}

// The trace knows one value for the whole run: a level line from its start to its end.
void PerfettoWriter::write_link(std::size_t link) {
  ProtoMessage unit;
  unit.text(counter::kUnitName, "% busy");
  ProtoMessage descriptor;
  descriptor.number(track::kUuid, kLinkTracks + link);
  descriptor.text(track::kName, trace_.links[link].link);
  descriptor.number(track::kParent, kFabricTrack);
  descriptor.message(track::kCounter, unit);
  write_descriptor(descriptor);
  for (const Time at : {Time{}, trace_.makespan}) {
    event_.clear();
    event_.number(event::kType, event::kCount);
    event_.number(event::kTrack, kLinkTracks + link);
    event_.real(event::kRealCounter, trace_.links[link].busy_pct);
    begin_packet();
    packet_.number(packet::kTimestamp, timestamp_of(at));
    packet_.message(packet::kTrackEvent, event_);
    end_packet();
  }
  counts_.links_beyond_cap += finish_packets() ? 0 : 1;
}

void PerfettoWriter::write_slices() {
  std::int64_t met = 0;
  std::int64_t ops = 0;
  for (const TraceRow& row : rows_) {
    ops += row.lane == 0 ? static_cast<std::int64_t>(plan_.stream_ops(row.stream).size()) : 0;
  }
  TraceTimeline timeline(plan_, trace_, rows_);
  while (const auto point = timeline.next()) {
    met += point->is_start ? 1 : 0;
    const bool is_wanted = wants_step(options_, step_of(plan_.id(point->op)));
    if (point->is_start && is_wanted) {
      write_slice(point->op, point->row);
    } else if (point->is_start) {
      ++counts_.not_chosen;
    }
    const auto when = point->is_start ? MemoryWhen::kStart : MemoryWhen::kEnd;
    MemoryLevels& memory = memory_[index_of(rows_[point->row].device)];
    const auto changed = memory.apply(plan_.memory_effects(point->op), when);
    if (changed != 0 && is_wanted) {
      write_memory(*point, changed);
    }
  }
  counts_.not_run = ops - met;
  counts_.not_chosen += static_cast<std::int64_t>(plan_.size()) - ops;
}

void PerfettoWriter::write_slice(OpId op, std::uint32_t row) {
  if (is_full_) {
    ++counts_.beyond_cap;
    return;
  }
  interned_.clear();
  event_.clear();
  event_.number(event::kType, event::kBegin);
  event_.number(event::kTrack, row + std::uint64_t{1});
  event_.number(event::kCategory,
                intern(categories_, interned::kCategories, slice_category(plan_.kind(op))));
  const std::string name = slice_name(plan_, trace_, op);
  if (const auto iid = intern(names_, interned::kEventNames, name); iid != kNotInterned) {
    event_.number(event::kName, iid);
  } else {
    event_.text(event::kNameText, name);
  }
  add_annotations(op);
  add_links_between_slices(op);
  begin_packet();
  packet_.number(packet::kTimestamp, timestamp_of(trace_.ops[index_of(op)].start));
  if (!interned_.empty()) {
    packet_.message(packet::kInterned, interned_);
  }
  packet_.message(packet::kTrackEvent, event_);
  end_packet();
  write_end(op, row);
  ++(finish_packets() ? counts_.written : counts_.beyond_cap);
}

// Beside its begin although others begin before it: readers sort, and a slice is whole or absent.
void PerfettoWriter::write_end(OpId op, std::uint32_t row) {
  event_.clear();
  event_.number(event::kType, event::kEnd);
  event_.number(event::kTrack, row + std::uint64_t{1});
  begin_packet();
  packet_.number(packet::kTimestamp, timestamp_of(trace_.ops[index_of(op)].end));
  packet_.message(packet::kTrackEvent, event_);
  end_packet();
}

std::uint64_t PerfettoWriter::intern(StringTable& table,
                                     std::uint32_t kind,
                                     std::string_view text) {
  if (const auto known = table.find(text); known != HashIndex::kNone) {
    return known + std::uint64_t{1};
  }
  if (table.size() >= kMostInterned) {
    return kNotInterned;
  }
  const std::uint64_t iid = table.intern(text) + std::uint64_t{1};
  ProtoMessage entry;
  entry.number(interned::kIid, iid);
  entry.text(interned::kText, text);
  interned_.message(kind, entry);
  return iid;
}

ProtoMessage PerfettoWriter::named_annotation(std::string_view name) {
  ProtoMessage one;
  one.number(annotation::kName, intern(annotation_names_, interned::kAnnotationNames, name));
  return one;
}

void PerfettoWriter::add_annotation(std::string_view name, std::string_view value) {
  ProtoMessage one = named_annotation(name);
  one.text(annotation::kText, value);
  event_.message(event::kAnnotation, one);
}

void PerfettoWriter::add_annotation(std::string_view name, std::int64_t value) {
  ProtoMessage one = named_annotation(name);
  one.number(annotation::kInteger, static_cast<std::uint64_t>(value));
  event_.message(event::kAnnotation, one);
}

void PerfettoWriter::add_annotation(std::string_view name, double value) {
  ProtoMessage one = named_annotation(name);
  one.real(annotation::kReal, std::isfinite(value) ? value : 0);
  event_.message(event::kAnnotation, one);
}

void PerfettoWriter::add_annotations(OpId op) {
  add_annotation("op", plan_.id(op));
  const OpTimes& times = trace_.ops[index_of(op)];
  if (times.start > times.ready) {
    add_annotation("waited_us", to_microseconds(times.start - times.ready));
  }
  switch (plan_.kind(op)) {
    case OpKind::kCompute:
      add_annotation("flops", plan_.compute(op).flops);
      add_annotation("bytes", plan_.compute(op).bytes.count);
      break;
    case OpKind::kCopy:
      add_annotation("bytes", plan_.copy(op).bytes.count);
      break;
    case OpKind::kSend:
    case OpKind::kRecv:
    case OpKind::kCollective:
      add_communication(op);
      break;
    case OpKind::kHost:
    case OpKind::kMarker:
      break;
  }
}

void PerfettoWriter::add_communication(OpId op) {
  const OpTimes& times = trace_.ops[index_of(op)];
  const auto facts = communication_facts(plan_, op, times.end - times.start);
  add_annotation("bytes", facts.bytes.count);
  add_annotation("algbw_GBps", facts.algbw_gbps);
  add_annotation("busbw_GBps", facts.busbw_gbps);
  if (plan_.kind(op) != OpKind::kCollective) {
    add_annotation("peer", plan_.device_name(plan_.message(op).peer));
    return;
  }
  add_annotation("group", plan_.group_name(plan_.shape(op).group));
  add_annotation("ranks", static_cast<std::int64_t>(facts.group_size));
  if (const CollectiveRun* run = run_of(plan_, trace_, op); run != nullptr) {
    add_annotation("algorithm", run->algorithm);
    add_annotation("protocol", run->protocol);
    add_annotation("channels", std::int64_t{run->channels});
    add_annotation("bottleneck", run->bottleneck);
  }
}

// Arrows from sends to recvs, and one colour for all ranks of a collective.
void PerfettoWriter::add_links_between_slices(OpId op) {
  const OpKind kind = plan_.kind(op);
  if (kind == OpKind::kCollective) {
    event_.number(event::kCorrelation, index_of(plan_.collective(op).instance) + 1);
  } else if (kind == OpKind::kSend && plan_.message(op).partner != no_id<OpId>()) {
    event_.fixed64(event::kFlow, index_of(op) + 1);
  } else if (kind == OpKind::kRecv && plan_.message(op).partner != no_id<OpId>()) {
    event_.fixed64(event::kLastOfFlow, index_of(plan_.message(op).partner) + 1);
  }
}

void PerfettoWriter::write_memory(const TraceTimeline::Point& point, MemoryLevels::Parts changed) {
  const DeviceId device = rows_[point.row].device;
  for (std::size_t part = 0; part < kMemoryPartNames.size() && !is_full_; ++part) {
    if ((changed >> part & 1U) == 0) {
      continue;
    }
    if (memory_[index_of(device)].describe_once(part)) {
      describe_memory(device, part);
    }
    write_count(kMemoryTracks + index_of(device) * kMemoryPartNames.size() + part,
                timestamp_of(point.at), memory_[index_of(device)].bytes(part));
  }
}

void PerfettoWriter::describe_memory(DeviceId device, std::size_t part) {
  ProtoMessage unit;
  unit.number(counter::kUnit, counter::kBytes);
  ProtoMessage descriptor;
  descriptor.number(track::kUuid,
                    kMemoryTracks + index_of(device) * kMemoryPartNames.size() + part);
  descriptor.text(track::kName, std::string("memory ").append(kMemoryPartNames[part]));
  descriptor.number(track::kParent, kProcessTracks + index_of(device));
  descriptor.message(track::kCounter, unit);
  write_descriptor(descriptor);
}

void PerfettoWriter::write_count(std::uint64_t uuid, std::uint64_t at, std::int64_t value) {
  event_.clear();
  event_.number(event::kType, event::kCount);
  event_.number(event::kTrack, uuid);
  event_.number(event::kCounter, static_cast<std::uint64_t>(value));
  begin_packet();
  packet_.number(packet::kTimestamp, at);
  packet_.message(packet::kTrackEvent, event_);
  end_packet();
  finish_packets();
}

}  // namespace

TraceWriteCounts write_perfetto(const Plan& plan,
                                const Trace& trace,
                                const TraceWriteOptions& options,
                                const TraceSink& sink) {
  return PerfettoWriter(plan, trace, options, sink).run();
}

}  // namespace twinrun
