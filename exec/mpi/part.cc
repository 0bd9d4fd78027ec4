#include "exec/mpi/part.h"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace twinrun::exec {
namespace {

// Writes, or reads back, the same fields in the same order.
class Writer {
 public:
  template <class Value>
  void plain(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    plain(static_cast<std::uint64_t>(value.size()));
    out_ += value;
  }
  template <class Value>
  void plains(const std::vector<Value>& values) {
    plain(static_cast<std::uint64_t>(values.size()));
    out_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
  }
  template <class Value, class Each>
  void list(const std::vector<Value>& values, const Each& each) {
    plain(static_cast<std::uint64_t>(values.size()));
    for (const Value& value : values) {
      each(*this, value);
    }
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class Value>
  void plain(Value& value) {
    std::memcpy(&value, next(sizeof value), sizeof value);
  }
  void text(std::string& value) {
    const std::size_t count = size(1);
    value.assign(next(count), count);
  }
  template <class Value>
  void plains(std::vector<Value>& values) {
    values.resize(size(sizeof(Value)));
    const std::size_t bytes = values.size() * sizeof(Value);
    if (bytes > 0) {
      std::memcpy(values.data(), next(bytes), bytes);
    }
  }
  template <class Value, class Each>
  void list(std::vector<Value>& values, const Each& each) {
    values.resize(size(1));
    for (Value& value : values) {
      each(*this, value);
    }
  }

 private:
  std::size_t size(std::size_t of_each) {
    std::uint64_t count = 0;
    plain(count);
    if (count > left_.size() / of_each) {
      throw std::runtime_error("what a process said is cut short");
    }
    return count;
  }
  const char* next(std::size_t count) {
    if (count > left_.size()) {
      throw std::runtime_error("what a process said is cut short");
    }
    const char* const at = left_.data();
    left_.remove_prefix(count);
    return at;
  }

  std::string_view left_;
};

template <class Stream, class SomePart>
void fields(Stream& stream, SomePart& part) {
  const auto text = [](auto& to, auto& value) { to.text(value); };
  stream.plain(part.is_whole);
  stream.plain(part.is_ending);
  stream.text(part.refusal);
  stream.plain(part.is_missing);
  stream.plain(part.begin_ns);
  stream.plain(part.end_ns);
  stream.plain(part.at_begin);
  stream.plain(part.at_end);
  stream.plains(part.ops);
  stream.text(part.streams);
  stream.list(part.algorithms, text);
  stream.plain(part.is_emulated);
  stream.plains(part.loss_of_samples);
  stream.list(part.weights, [](auto& to, auto& range) {
    to.plain(range.tensor_rank);
    to.plain(range.first);
    to.plains(range.values);
  });
  stream.plain(part.wrong_elements);
  stream.text(part.library);
  stream.list(part.warnings, text);
}

template <class Stream, class SomeFailure>
void failure_fields(Stream& stream, SomeFailure& failure) {
  stream.plain(failure.kind);
  stream.plain(failure.op);
  stream.text(failure.message);
}

}  // namespace

std::string to_bytes(const Part& part) {
  Writer writer;
  fields(writer, part);
  writer.plain(part.failure.has_value());
  if (part.failure) {
    failure_fields(writer, *part.failure);
  }
  return writer.take();
}

Part part_from_bytes(std::string_view bytes) {
  Reader reader(bytes);
  Part part;
  fields(reader, part);
  bool has_failed = false;
  reader.plain(has_failed);
  if (has_failed) {
    failure_fields(reader, part.failure.emplace());
  }
  return part;
}

std::vector<Part::Timed> timed_ops(const Plan& plan, const OpTimes* times) {
  std::vector<Part::Timed> out;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (times[i].end > times[i].start) {
      out.push_back({id_at<OpId>(i), times[i]});
    }
  }
  return out;
}

}  // namespace twinrun::exec
