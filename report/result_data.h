#pragma once

#include <nlohmann/json_fwd.hpp>

namespace twinrun::report {

// A twinrun/result/1 as the page takes it: the same keys and values, but neighbours alike in
// `memory` and `devices_detail` are one entry with a `count` and names from … to, `collectives` are
// summed up by what they do, and lists that other parts of the page have (links, critical path) are
// left out.
nlohmann::ordered_json result_data(const nlohmann::ordered_json& result);

}  // namespace twinrun::report
