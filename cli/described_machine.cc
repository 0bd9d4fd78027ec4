#include "cli/described_machine.h"

#include "core/io/json_document.h"
#include "core/io/load_topology.h"
#include "core/io/save_topology.h"
#include "core/io/source.h"
#include "exec/discover/machine_topology.h"
#include "exec/discover/machine_xml.h"

namespace twinrun::cli {
namespace {

// What complaints about the machine's own words are shown in.
constexpr const char* kMachineText = "(this machine, as NCCL would write it)";

}  // namespace

DescribedMachine describe_machine(Context& context,
                                  const exec::Machine& machine,
                                  const ImportOptions& options,
                                  Diagnostics& diagnostics) {
  const Source xml = Source::of_text(kMachineText, exec::nccl_xml_of(machine, diagnostics));
  context.remember(xml);
  DescribedMachine out;
  out.text = save_topology(exec::topology_of(machine, xml, options, diagnostics));
  const Source written = Source::of_text("discovered topology", out.text);
  context.remember(written);
  const JsonDocument document = JsonDocument::read(written, diagnostics);
  out.spec = read_topology(document.root(), diagnostics);
  diagnostics.throw_if_errors();
  return out;
}

}  // namespace twinrun::cli
