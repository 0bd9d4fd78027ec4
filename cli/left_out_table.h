#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/load_case.h"

namespace twinrun::cli {

// Predicting a published table honestly: by curves that were fitted without it.
//
//   --leave-out TABLE   the rows of that table, by a fit that did not know it
//   --leave-out each    every row, each by a fit that did not know its table
inline constexpr std::string_view kLeaveOutEach = "each";

// Throws UsageError unless it is "", "each" or the table of a file.
void check_left_out(const std::string& asked, const std::vector<CaseFile>& files);
// Whether the rows of a file are to be predicted at all.
bool is_predicted(const std::string& asked, const CaseFile& file);
// The table that the curves for this file shall not know; "" for none.
std::string left_out_for(const std::string& asked, const CaseFile& file);

// What leaving a table out does not change: constants that somebody read off it by hand, each a
// property of hardware or software, and said where it stands. "" when there are none.
std::string_view constants_read_off(std::string_view table);
// In words, what was and was not refitted.
std::string left_out_note(const std::string& asked, std::span<const CaseFile* const> files);

}  // namespace twinrun::cli
