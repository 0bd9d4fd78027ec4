#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/diagnostics.h"
#include "core/io/json_document.h"
#include "core/plan/plan.h"

namespace twinrun {

// What a plan says for real runs, as JSON: "workload" at its top, "payload" in its ops. Keys that
// have their usual value are left out.
std::string workload_to_json(const Workload& workload);
std::string payload_to_json(const Plan& plan, const Payload& payload);

// Complain about what is not as it should be. Whether the ranges fit the workload is not looked at.
Workload read_workload(JsonValue value, Diagnostics& diagnostics);
Payload read_payload(JsonValue value,
                     const std::function<DeviceId(std::string_view)>& device_named,
                     Diagnostics& diagnostics);

}  // namespace twinrun
