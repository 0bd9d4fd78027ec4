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
    DiagnosticCode{
        "E0301", "there is no such template",
        "A machine is an instance of a template, from \"templates\" of the same file or a machine "
        "of the catalogue (`twinrun topo list`). The help line names the nearest known one."},
    DiagnosticCode{"E0302", "a template contains itself",
                   "Templates may contain smaller templates, up to 16 deep, but never themselves, "
                   "directly or through others. The message shows the circle."},
    DiagnosticCode{"E0303", "a count is too large",
                   "A topology may have 4,000,000 parts and 16,000,000 links, one machine 200,000 "
                   "and 1,000,000. More is taken for a mistyped count or a pattern that matches "
                   "too much, and refused before any memory is spent."},
    DiagnosticCode{"E0304", "a name matches nothing",
                   "Links and overrides name parts by patterns: gpu3, gpu*, gpu[0-3], node*/gpu0. "
                   "Within a template names are local; elsewhere they begin with the machine, "
                   "node0/gpu3, unless there is only one. `twinrun topo show` lists the names."},
    DiagnosticCode{"E0305", "the ends of a link cannot be paired",
                   "With \"pairing\": \"each\" the ends are joined in order, so one side's count "
                   "must divide the other's: 8 GPUs and 4 switches pair two by two, 8 and 3 do "
                   "not. And nothing is joined with itself."},
    DiagnosticCode{"E0306", "a machine has no such parts",
                   "\"gpus\" keeps the first so many GPUs of each machine and cannot add any; "
                   "\"nics\" can add NICs only like those there are; \"devices\" counts the CPUs "
                   "of machines without GPUs."},
    DiagnosticCode{"E0307", "the machines do not fit the fat-tree",
                   "L levels of switches with k ports carry k ports for L = 1, k*k/2 for 2 and "
                   "k*k*k/4 for 3. Leave out \"ports\" to get the smallest switch that will do."},
    DiagnosticCode{"E0308", "the dims of a torus do not match",
                   "The product of \"dims\" must be the number of machines. Without \"dims\" a "
                   "torus is as square a rectangle as that number allows."},
    DiagnosticCode{"E0309", "a machine cannot be plugged in",
                   "A fabric plugs into NICs, or into the first CPU of a machine without NICs. "
                   "This machine has neither."},
    DiagnosticCode{"E0310", "the speed of a wire is not known",
                   "A wire is as fast as the \"nic\" of the nodes entry says, else the fabric's "
                   "\"bandwidth\", else the \"rate\" of the NIC's device. None of them is given."},
    DiagnosticCode{"E0311", "a key has no effect",
                   "This kind of fabric does not read the key, so what it was meant to say would "
                   "be lost: a single switch has no spines, a ring no oversubscription."},
    DiagnosticCode{"E0312", "there is no such device",
                   "Parts name devices from \"devices\" of the same file or from the catalogue "
                   "(topologies/devices.json). The help line names the nearest known one."},
    DiagnosticCode{"E0320", "there is no such topology",
                   "A topology is a name of the catalogue (`twinrun topo list`), a file, \"-\" for "
                   "standard input, or an expression such as dgx-a100:nodes=16 or "
                   "single-switch:hosts=8,bandwidth=12.5GB/s."},
    DiagnosticCode{"E0321", "an expression cannot be understood",
                   "After the name and a colon come key=value pairs with commas between them: "
                   "dgx-a100:nodes=16,fabric=rail-optimized,nic=200Gb/s. Each key is given once; "
                   "the help line says what the key takes."},
    DiagnosticCode{"W0301", "the machines are not connected",
                   "There are several machines but neither a \"fabric\" nor \"links\", so nothing "
                   "can travel between them."},
    DiagnosticCode{"W0302", "an oversubscription has no effect",
                   "All machines share one switch, or the switches have no uplinks, so there is "
                   "nothing to oversubscribe."},
};

}  // namespace

std::span<const DiagnosticCode> diagnostic_codes() { return kCodes; }

const DiagnosticCode* find_diagnostic_code(std::string_view code) {
  const auto* found = std::find_if(kCodes.begin(), kCodes.end(),
                                   [&](const DiagnosticCode& row) { return row.code == code; });
  return found == kCodes.end() ? nullptr : found;
}

}  // namespace twinrun
