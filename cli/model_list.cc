#include <CLI/App.hpp>

#include "cli/model.h"
#include "cli/model_input.h"
#include "core/model/catalogue.h"

namespace twinrun::cli {
namespace {

Cell counted(std::int64_t count) { return {count, short_count(static_cast<double>(count))}; }

Output list_models(Context& /*context*/) {
  Output output;
  output.rows_key = "models";
  Table table;
  table.columns = {{"name"},
                   {"parameters", "", Align::kRight},
                   {"forward_flops", "FLOPs a sample", Align::kRight},
                   {"sequence", "tokens", Align::kRight},
                   {"description"}};
  for (const CatalogueModel& entry : catalogue_models()) {
    const std::optional<Model> model = catalogue_model(entry.name);
    if (!model) {  // a name with letters for numbers
      table.rows.push_back({entry.name, {}, {}, {}, entry.description});
      continue;
    }
    const LayerTotals totals = totals_of(model->layers);
    table.rows.push_back({entry.name, counted(totals.parameters), counted(totals.forward_flops),
                          model->sequence > 0 ? Cell(model->sequence) : Cell(), entry.description});
  }
  table.note = "\nlook at one with: twinrun model show NAME --batch 64";
  output.json["models"] = to_json(table);
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace

Run add_model_list(CLI::App& /*app*/) { return list_models; }

}  // namespace twinrun::cli
