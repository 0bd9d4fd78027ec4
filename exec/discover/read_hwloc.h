#pragma once

#include <optional>
#include <string>

#include "exec/discover/machine.h"

namespace twinrun::exec {

// What hwloc says of this machine: cores, memory and caches of NUMA nodes, PCI devices and their
// places; the rest is left open. Nothing where the library is not there, or where its variables
// tell it to describe another machine.
std::optional<Machine> read_hwloc();
std::optional<Machine> read_hwloc(const std::string& library);

// Another machine: a file of `lstopo --of xml`, or a description in hwloc's own short form such as
// "package:2 core:8 pu:2". It has what hwloc knows: no NVLinks, no rates of network ports, and of
// PCI links those that were on when the file was written. Nothing where hwloc cannot read it.
std::optional<Machine> read_hwloc_of(const std::string& file_or_description);

// Why hwloc cannot be asked, in a sentence; "" when it can.
std::string why_no_hwloc();
std::string why_no_hwloc(const std::string& library);
// Whether it could be asked if the library were there.
bool has_hwloc_header();

}  // namespace twinrun::exec
