#include "exec/mpi/part_files.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "exec/mpi/live_table.h"

namespace twinrun::exec {
namespace {

std::string part_file(const std::string& folder, int rank) {
  return fmt::format("{}/part.{}", folder, rank);
}

std::string stop_file(const std::string& folder) { return folder + "/stop"; }

}  // namespace

void write_part(const std::string& folder, int rank, const Part& part) {
  const std::string file = part_file(folder, rank);
  const std::string half = file + ".half";  // whoever looks sees all of it or nothing
  const std::string bytes = to_bytes(part);
  std::ofstream out(half, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write " + half);
  }
  std::filesystem::rename(half, file);
}

std::optional<Part> read_part(const std::string& folder, int rank) {
  std::ifstream in(part_file(folder, rank), std::ios::binary);
  if (!in) {
    return std::nullopt;
  }
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return part_from_bytes(bytes);
}

Part read_remains(const std::string& folder, int rank, const Plan& plan) {
  Part out;
  if (const auto live = LiveTable::open(folder, rank, plan.size())) {
    out.is_ending = live->head().is_ending != 0;
    out.begin_ns = live->head().begin_ns;
    out.at_begin = {live->head().ahead_ns, live->head().round_trip_ns};
    out.ops = timed_ops(plan, live->times());
  }
  return out;
}

void ask_to_stop(const std::string& folder) { std::ofstream(stop_file(folder)).put('\n'); }

bool is_asked_to_stop(const std::string& folder) {
  std::error_code error;
  return std::filesystem::exists(stop_file(folder), error);
}

}  // namespace twinrun::exec
