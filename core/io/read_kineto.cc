#include "core/io/read_kineto.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/io/json_document.h"
#include "core/io/json_tokens.h"
#include "core/io/kineto_text.h"
#include "core/io/streamed_object.h"

namespace twinrun {
namespace {

constexpr std::int64_t kLatestBaseNs = std::int64_t{1} << 62;

// An event as its keys come; cleared for each.
struct RawEvent {
  std::string phase;
  std::string category;
  std::string name;
  std::string label;  // args.name of metadata
  std::optional<std::int64_t> pid;
  std::optional<std::int64_t> tid;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> length_ns;
  std::int64_t correlation = -1;
  std::int64_t bytes = 0;
  std::int64_t known_elements = 0;  // of the two keys, how many came
  KinetoMessage message;
  KinetoOwn own;
};

class KinetoReader {
 public:
  KinetoReader(const Source& source, Diagnostics& diagnostics)
      : diagnostics_(diagnostics), tokens_(source), document_(source.name()) {
    out_.file = source.name();
  }

  std::optional<KinetoFile> run();

 private:
  void read_top();
  void read_member(const std::string& key, JsonToken token);
  void read_distributed(JsonToken token);
  void read_tail(JsonToken token);
  void read_events(JsonToken token);
  void read_event(JsonToken token);
  void read_event_member(const std::string& key, JsonToken token);
  void read_args(JsonToken token);
  void read_argument(const std::string& key, JsonToken token);
  void read_own(JsonToken token);
  void keep_event();
  void keep_metadata();
  [[nodiscard]] std::optional<KinetoCategory> category() const;

  void text_into(JsonToken token, std::string& out);
  void whole_into(JsonToken token, std::int64_t& out);
  std::optional<std::int64_t> whole(JsonToken token);
  std::optional<std::int64_t> time(JsonToken token);

  Diagnostics& diagnostics_;
  JsonTokens tokens_;
  JsonDocument document_;
  KinetoFile out_;
  RawEvent event_;
  std::int64_t base_ns_ = 0;
  bool has_events_ = false;
};

void KinetoReader::text_into(JsonToken token, std::string& out) {
  if (token == JsonToken::kString) {
    out = tokens_.text();
  } else {
    skip_value(tokens_, token);
  }
}

std::optional<std::int64_t> KinetoReader::whole(JsonToken token) {
  if (token == JsonToken::kInteger) {
    return tokens_.integer();
  }
  skip_value(tokens_, token);
  return std::nullopt;
}

void KinetoReader::whole_into(JsonToken token, std::int64_t& out) {
  out = whole(token).value_or(out);
}

std::optional<std::int64_t> KinetoReader::time(JsonToken token) {
  if (token == JsonToken::kInteger || token == JsonToken::kNumber) {
    const double value =
        token == JsonToken::kInteger ? static_cast<double>(tokens_.integer()) : tokens_.number();
    return kineto_nanoseconds(tokens_.text(), value);
  }
  skip_value(tokens_, token);
  return std::nullopt;
}

void KinetoReader::read_distributed(JsonToken token) {
  document_.fill(tokens_, token, "/distributedInfo", diagnostics_);
  const JsonValue rank = document_.root().find("rank");
  if (rank.is_integer() && rank.integer() >= 0) {
    out_.rank = rank.integer();
  }
  const JsonValue world = document_.root().find("world_size");
  out_.world_size = world.is_integer() ? std::max<std::int64_t>(0, world.integer()) : 0;
}

// What our own files end with.
void KinetoReader::read_tail(JsonToken token) {
  document_.fill(tokens_, token, "/twinrun", diagnostics_);
  const auto text = [&](std::string_view key) {
    const JsonValue value = document_.root().find(key);
    return std::string(value.is_string() ? value.text() : "");
  };
  out_.source = text("source");
  out_.failure = text("failure");
  const JsonValue beyond = document_.root().find("beyond_cap");
  out_.left_out = beyond.is_integer() ? beyond.integer() : 0;
}

void KinetoReader::read_member(const std::string& key, JsonToken token) {
  if (key == "traceEvents") {
    read_events(token);
  } else if (key == "distributedInfo") {
    read_distributed(token);
  } else if (key == "traceName") {
    text_into(token, out_.trace_name);
  } else if (key == "baseTimeNanoseconds") {
    whole_into(token, base_ns_);
  } else if (key == "twinrun") {
    read_tail(token);
  } else {
    skip_value(tokens_, token);
  }
}

void KinetoReader::read_top() {
  const JsonToken first = tokens_.next();
  if (first == JsonToken::kBeginArray) {  // chrome's other form: nothing but events
    read_events(first);
  } else if (first == JsonToken::kBeginObject) {
    while (tokens_.next() != JsonToken::kEndObject) {
      const std::string key(tokens_.text());
      read_member(key, tokens_.next());
    }
  } else {
    skip_value(tokens_, first);
  }
  tokens_.next();  // complains about anything after the value
}

void KinetoReader::read_events(JsonToken token) {
  if (token != JsonToken::kBeginArray) {
    skip_value(tokens_, token);
    return;
  }
  has_events_ = true;
  for (token = tokens_.next(); token != JsonToken::kEndArray; token = tokens_.next()) {
    if (token == JsonToken::kBeginObject) {
      read_event(token);
    } else {
      skip_value(tokens_, token);
    }
  }
}

void KinetoReader::read_event(JsonToken token) {
  event_ = {};
  while (tokens_.next() != JsonToken::kEndObject) {
    const std::string key(tokens_.text());
    token = tokens_.next();
    if (key == "args" && token == JsonToken::kBeginObject) {
      read_args(token);
    } else {
      read_event_member(key, token);
    }
  }
  keep_event();
}

void KinetoReader::read_event_member(const std::string& key, JsonToken token) {
  if (key == "ph") {
    text_into(token, event_.phase);
  } else if (key == "cat") {
    text_into(token, event_.category);
  } else if (key == "name") {
    text_into(token, event_.name);
  } else if (key == "pid") {
    event_.pid = whole(token);
  } else if (key == "tid") {
    event_.tid = whole(token);
  } else if (key == "ts") {
    event_.start_ns = time(token);
  } else if (key == "dur") {
    event_.length_ns = time(token);
  } else {
    skip_value(tokens_, token);
  }
}

void KinetoReader::read_args(JsonToken token) {
  while (tokens_.next() != JsonToken::kEndObject) {
    const std::string key(tokens_.text());
    token = tokens_.next();
    if (key == "twinrun" && token == JsonToken::kBeginObject) {
      read_own(token);
    } else {
      read_argument(key, token);
    }
  }
}

void KinetoReader::read_argument(const std::string& key, JsonToken token) {
  KinetoMessage& message = event_.message;
  if (key == "correlation") {
    whole_into(token, event_.correlation);
  } else if (key == "bytes") {
    whole_into(token, event_.bytes);
  } else if (key == "name") {
    text_into(token, event_.label);
  } else if (key == "Collective name") {
    text_into(token, message.collective);
  } else if (key == "dtype") {
    text_into(token, message.dtype);
  } else if (key == "In msg nelems") {
    whole_into(token, message.in_elements);
  } else if (key == "Out msg nelems") {
    whole_into(token, message.out_elements);
  } else if (key == "Group size") {
    whole_into(token, message.group_size);
  } else if (key == "Process Group Name") {
    text_into(token, message.group);
  } else if (key == "Process Group Ranks") {
    std::string ranks;
    text_into(token, ranks);
    message.ranks = kineto_ranks(ranks);
  } else if (key == "Src Rank") {
    whole_into(token, message.source);
  } else if (key == "Dst Rank") {
    whole_into(token, message.destination);
  } else {
    skip_value(tokens_, token);
  }
}

void KinetoReader::read_own(JsonToken token) {
  KinetoOwn& own = event_.own;
  while (tokens_.next() != JsonToken::kEndObject) {
    const std::string key(tokens_.text());
    token = tokens_.next();
    if (key == "op") {
      text_into(token, own.op);
    } else if (key == "waited_us") {
      own.waited_ns = time(token).value_or(0);
    } else if (key == "flops" && (token == JsonToken::kInteger || token == JsonToken::kNumber)) {
      own.flops =
          token == JsonToken::kInteger ? static_cast<double>(tokens_.integer()) : tokens_.number();
    } else if (key == "bytes") {
      whole_into(token, own.bytes);
    } else if (key == "algorithm") {
      text_into(token, own.algorithm);
    } else if (key == "protocol") {
      text_into(token, own.protocol);
    } else if (key == "bottleneck") {
      text_into(token, own.bottleneck);
    } else if (key == "channels") {
      own.channels = static_cast<int>(std::clamp<std::int64_t>(whole(token).value_or(0), 0, 1024));
    } else {
      skip_value(tokens_, token);
    }
  }
}

std::optional<KinetoCategory> KinetoReader::category() const {
  const std::string& word = event_.category;
  if (word == "kernel") {
    return KinetoCategory::kKernel;
  }
  if (word == "gpu_memcpy") {
    return KinetoCategory::kMemcpy;
  }
  if (word == "gpu_memset") {
    return KinetoCategory::kMemset;
  }
  if ((word == "cuda_runtime" || word == "cuda_driver") && event_.correlation >= 0) {
    return KinetoCategory::kLaunch;
  }
  if (word == "cpu_op" &&
      (!event_.own.op.empty() || event_.name.starts_with("autograd::engine::evaluate_function"))) {
    return KinetoCategory::kCpuOp;
  }
  return word == "user_annotation" ? std::optional(KinetoCategory::kAnnotation) : std::nullopt;
}

void KinetoReader::keep_metadata() {
  if (event_.name == "process_name" && !event_.label.empty() && out_.process_name.empty()) {
    out_.process_name = event_.label;
  } else if (event_.name == "thread_name" && event_.tid) {
    out_.thread_names.try_emplace(*event_.tid, event_.label);
  }
}

void KinetoReader::keep_event() {
  if (event_.phase == "M") {
    keep_metadata();
    return;
  }
  const std::optional<KinetoCategory> kind = category();
  if (event_.phase != "X" || !kind) {
    return;
  }
  if (!event_.start_ns || !event_.length_ns || *event_.length_ns < 0 || !event_.tid) {
    ++out_.unreadable;
    return;
  }
  KinetoSlice slice;
  slice.category = *kind;
  slice.name = out_.words.intern(event_.name);
  slice.tid = *event_.tid;
  slice.start_ns = *event_.start_ns;
  slice.end_ns = *event_.start_ns + *event_.length_ns;
  slice.correlation = event_.correlation;
  slice.bytes = std::max<std::int64_t>(0, event_.bytes);
  if (!event_.message.collective.empty()) {
    slice.message = static_cast<std::int32_t>(out_.messages.size());
    out_.messages.push_back(std::move(event_.message));
  }
  if (!event_.own.op.empty()) {
    slice.own = static_cast<std::int32_t>(out_.own.size());
    out_.own.push_back(std::move(event_.own));
  }
  out_.slices.push_back(slice);
}

std::optional<KinetoFile> KinetoReader::run() {
  try {
    read_top();
  } catch (const JsonSyntaxError& error) {
    diagnostics_.error("E0102", {out_.file, "", error.offset(), false}, error.what(), error.help());
    return std::nullopt;
  }
  if (!has_events_) {
    diagnostics_.error("E0811", {out_.file, "", 0, false}, "the file has no \"traceEvents\"",
                       "give a trace of PyTorch's profiler: export_chrome_trace writes one");
    return std::nullopt;
  }
  if (base_ns_ > 0 && base_ns_ < kLatestBaseNs) {
    for (KinetoSlice& slice : out_.slices) {
      slice.start_ns += base_ns_;
      slice.end_ns += base_ns_;
    }
  }
  return std::move(out_);
}

}  // namespace

bool is_kineto(const Source& source) {
  JsonTokens tokens(source);
  try {
    if (tokens.next() != JsonToken::kBeginObject) {
      return false;
    }
    while (tokens.next() != JsonToken::kEndObject) {
      if (tokens.text() == "traceEvents") {
        return true;
      }
      skip_value(tokens, tokens.next());
    }
  } catch (const JsonSyntaxError&) {
    return false;
  }
  return false;
}

std::optional<KinetoFile> read_kineto(const Source& source, Diagnostics& diagnostics) {
  return KinetoReader(source, diagnostics).run();
}

}  // namespace twinrun
