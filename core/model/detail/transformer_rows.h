#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/catalogue.h"
#include "core/model/transformer.h"

namespace twinrun {

// A row of the tables of bert.cc, gpt.cc and llama.cc.
struct TransformerRow {
  std::string_view name;
  std::string_view description;
  TransformerShape shape;
};

inline std::vector<CatalogueModel> list_rows(std::span<const TransformerRow> rows) {
  std::vector<CatalogueModel> list;
  list.reserve(rows.size());
  for (const TransformerRow& row : rows) {
    list.push_back({std::string(row.name), std::string(row.description)});
  }
  return list;
}

// The head gives source and family. Nothing when there is no such row, or its counts would be too
// large with so long a sequence.
inline std::optional<Model> build_row(std::span<const TransformerRow> rows,
                                      Model head,
                                      std::string_view name,
                                      std::int64_t sequence) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const TransformerRow& one) { return one.name == name; });
  if (row == rows.end() || !counts_fit(row->shape, sequence)) {
    return std::nullopt;
  }
  head.name = row->name;
  head.description = row->description;
  return build_transformer(std::move(head), row->shape, sequence);
}

}  // namespace twinrun
