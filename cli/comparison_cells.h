#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cli/comparison_text.h"
#include "cli/table.h"
#include "core/trace/compare.h"

// What the tables of a comparison are made of.

namespace twinrun::cli {

std::string time_shown(double seconds);  // "-12.3 us"
Cell time_cell(double seconds);
Cell difference_cell(double seconds);              // with its sign
Cell percent_cell(std::optional<double> percent);  // with its sign; loud when it is far
Cell share_cell(std::optional<double> percent);
// 100 (b - a) / a; nothing when that is undefined.
std::optional<double> change_pct(double a, double b);
Column number_column(std::string name, std::string title);
// "12 more ops"; "" when all are shown.
std::string rest_text(std::size_t shown, std::size_t all, std::string_view what);

// Rows for people who did not ask for a whole table.
std::size_t most_rows(bool is_whole);

// The tables that list: each whole, or its first few rows.
Table ops_table(const Comparison& comparison, const CompareNames& names, bool is_whole);
Table layers_table(const Comparison& comparison, const CompareNames& names, bool is_whole);
Table waits_table(const Comparison& comparison, const CompareNames& names, bool is_whole);
Table collectives_table(const Comparison& comparison, const CompareNames& names, bool is_whole);
Table links_table(const Comparison& comparison, const CompareNames& names, bool is_whole);
Table devices_table(const Comparison& comparison, const CompareNames& names, bool is_whole);
Table lonely_table(const Comparison& comparison, const CompareNames& names, bool is_whole);

}  // namespace twinrun::cli
