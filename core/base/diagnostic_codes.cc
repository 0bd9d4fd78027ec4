#include "core/base/diagnostic_codes.h"

#include <algorithm>
#include <array>

namespace twinrun {
namespace {

// E01xx reading text · E02xx shape of an object · E03xx topologies · E04xx plans · E05xx jobs ·
// Wxxxx warnings.
constexpr std::array kCodes = {
    DiagnosticCode{"E0101", "an input cannot be read",
                   "The file does not exist, is a directory, or may not be read. Paths are "
                   "relative to the current "
                   "folder; \"-\" reads standard input."},
    DiagnosticCode{"E0102", "the text is not JSON",
                   "The position is where reading stopped. Common causes: a comma too many before "
                   "a closing bracket, "
                   "a missing quote, a comment, NaN or Infinity, a file cut short, or text that is "
                   "not UTF-8. Nesting "
                   "is limited to 200 levels."},
    DiagnosticCode{"E0105", "a key is given twice",
                   "JSON readers silently keep the last of two equal keys, so one of the two "
                   "values would have no "
                   "effect. Remove one."},
    DiagnosticCode{"E0201", "a required key is missing",
                   "The object needs this key and there is no sensible default. `twinrun schema "
                   "NAME` prints the "
                   "format with every key."},
    DiagnosticCode{
        "E0202", "a value has the wrong type",
        "For example a string where a list is needed. `twinrun schema NAME` prints the format."},
    DiagnosticCode{"E0203", "a value is out of range",
                   "Counts and sizes must be whole and not negative, bandwidths greater than zero, "
                   "and numbers finite."},
    DiagnosticCode{"E0204", "a word is not one of the allowed ones",
                   "The key takes one of a fixed list of words; the help line lists them."},
    DiagnosticCode{"E0205", "an unknown key",
                   "Nothing reads this key, so whatever it was meant to say would be lost. The "
                   "help line names the "
                   "nearest known key. Notes belong into \"comment\"."},
    DiagnosticCode{"E0206", "a quantity cannot be understood",
                   "Quantities are a number and a unit in one string: times \"1.5us\", \"200ns\"; "
                   "sizes \"80GiB\" (2^30) "
                   "or \"80GB\" (10^9); bandwidths \"25GB/s\" (bytes) or \"200Gb/s\" (bits); "
                   "compute \"312TFLOP/s\". A "
                   "plain number is taken in us, bytes, GB/s or TFLOP/s."},
    DiagnosticCode{
        "E0207", "the file declares another schema",
        "The \"schema\" key says what kind of file this is and in which version, such as "
        "\"twinrun/topology/1\". This file says something else than the command expects."},
};

}  // namespace

std::span<const DiagnosticCode> diagnostic_codes() { return kCodes; }

const DiagnosticCode* find_diagnostic_code(std::string_view code) {
  const auto* found = std::find_if(kCodes.begin(), kCodes.end(),
                                   [&](const DiagnosticCode& row) { return row.code == code; });
  return found == kCodes.end() ? nullptr : found;
}

}  // namespace twinrun
