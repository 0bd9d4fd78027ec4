#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/comparison_checks.h"
#include "cli/table.h"
#include "core/trace/compare.h"

namespace twinrun::cli {

// What the two runs are called: as typed, and over their columns.
struct CompareNames {
  std::string a;
  std::string b;
  std::string a_title;  // "simulated"; "A" when both are of a kind
  std::string b_title;
};
CompareNames names_of(const Comparison& comparison, const std::string& a, const std::string& b);

// Whether ops can explain the difference: the other run has most of those on the critical path too.
bool is_explained_by_ops(const Comparison& comparison);

// Sentences that say where the difference comes from; the first is the answer.
std::vector<std::string> comparison_sentences(const Comparison& comparison,
                                              const CompareNames& names);

// What to do about it; "" when there is nothing to do.
std::string comparison_advice(const Comparison& comparison, const CompareNames& names);

// What --by may name: the parts of a comparison that have a table.
std::span<const std::string_view> comparison_parts();

// The tables of these parts, whole, the worst first. Without any: the metrics, and of each part
// that has something to say the first few rows.
std::vector<Table> comparison_tables(const Comparison& comparison,
                                     const CompareNames& names,
                                     const std::vector<std::string>& parts);

// "check failed: step_s 57.7 % > 10 %"; a line each.
std::string checks_text(const std::vector<CompareCheck>& checks);

}  // namespace twinrun::cli
