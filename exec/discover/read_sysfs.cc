#include "exec/discover/read_sysfs.h"

namespace twinrun::exec {

Machine read_sysfs(const SystemFiles& files) {
  Machine machine;
  machine.name = files.line("/proc/sys/kernel/hostname").value_or("");
  machine.readers = {"sysfs"};
  machine.cpu = read_cpu_model(files);
  machine.nodes = read_numa_nodes(files);
  machine.pci = read_pci(files);
  machine.ports = read_ports(files);
  machine.gpus = read_driver_files(files);
  return machine;
}

}  // namespace twinrun::exec
