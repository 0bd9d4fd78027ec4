#include "cli/breakdown_json.h"

namespace twinrun::cli {

nlohmann::ordered_json breakdown_json(const Breakdown& parts) {
  return {{"compute", to_seconds(parts.compute)},
          {"recompute", to_seconds(parts.recompute)},
          {"exposed_communication", to_seconds(parts.exposed_communication)},
          {"bubble", to_seconds(parts.bubble)},
          {"imbalance", to_seconds(parts.imbalance)},
          {"input_wait", to_seconds(parts.input_wait)},
          {"server_wait", to_seconds(parts.server_wait)},
          {"update", to_seconds(parts.update)},
          {"host", to_seconds(parts.host)},
          {"idle", to_seconds(parts.idle)}};
}

}  // namespace twinrun::cli
