#include "core/plan/collective_calls.h"

#include <utility>

#include <fmt/format.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

void add_messages(PlanBuilder& builder,
                  const std::vector<DeviceId>& devices,
                  const std::string& name,
                  Bytes bytes) {
  const std::size_t senders = devices.size() == 2 ? 1 : devices.size();
  for (std::size_t i = 0; i < senders && devices.size() > 1; ++i) {
    builder.add_copy(fmt::format("{}@{}", name, i), builder.stream(devices[i], "copy"),
                     devices[(i + 1) % devices.size()], bytes);
  }
}

void add_collectives(PlanBuilder& builder,
                     const std::vector<DeviceId>& devices,
                     const std::string& name,
                     const CollectiveOpSpec& spec) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    builder.add_collective(fmt::format("{}@{}", name, i), builder.stream(devices[i], "comm"), spec);
  }
}

}  // namespace

Plan plan_of_calls(const std::vector<std::string>& devices,
                   std::span<const CollectiveCall> calls,
                   const CallOptions& options) {
  PlanBuilder builder("collectives");
  std::vector<DeviceId> ids;
  ids.reserve(devices.size());
  for (const std::string& device : devices) {
    ids.push_back(builder.add_device(device));
  }
  CollectiveOpSpec spec;
  spec.group = builder.add_group("ranks", ids);
  spec.algorithm = options.algorithm;
  spec.dtype = options.dtype;
  spec.root = ids[options.root];
  for (std::size_t call = 0; call < calls.size(); ++call) {
    const CollectiveCall& what = calls[call];
    const std::string word(what.kind ? name_of(*what.kind) : "copy");
    for (std::int64_t i = 0; i < what.times; ++i) {
      const bool is_only = calls.size() == 1 && what.times == 1;
      const std::string name = is_only ? word : fmt::format("{}.{}.{}", word, call, i);
      if (what.kind) {
        spec.kind = *what.kind;
        spec.bytes = what.bytes;
        add_collectives(builder, ids, name, spec);
      } else {
        add_messages(builder, ids, name, what.bytes);
      }
    }
  }
  return std::move(builder).finish();
}

}  // namespace twinrun
