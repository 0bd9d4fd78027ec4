#include "cli/topo.h"

#include <array>

#include <CLI/App.hpp>

#include "cli/verb.h"

namespace twinrun::cli {
namespace {

constexpr std::array kTopoVerbs = {
    Verb{"list", "the machines of the catalogue",
         "twinrun topo list\ntwinrun topo list --format csv", add_topo_list},
    Verb{"show", "totals, tree, matrix and bisection bandwidth",
         "twinrun topo show dgx1-v100\n"
         "twinrun topo show dgx-a100:nodes=16,oversubscription=2\n"
         "twinrun topo show my-cluster.json --format json",
         add_topo_show},
    Verb{"validate", "check a topology and say everything that is wrong with it",
         "twinrun topo validate my-cluster.json\n"
         "twinrun topo validate - < my-cluster.json",
         add_topo_validate},
    Verb{"paths", "the way between two vertices: hops, class, bottleneck, latency",
         "twinrun topo paths pcie-8gpu gpu0 gpu7\n"
         "twinrun topo paths dgx-h100:nodes=2048 node0/gpu0 node2047/gpu7",
         add_topo_paths},
    Verb{"import", "read a topology of another format",
         "twinrun topo import --from nccl-xml system.xml -o node.json\n"
         "twinrun topo import --from nccl-xml vm.xml --gpu h100-sxm5 --assume-bridge gen5x16",
         add_topo_import},
    Verb{"discover", "describe this machine as a topology",
         "twinrun topo discover\n"
         "twinrun topo discover -o here.json --measure\n"
         "twinrun topo discover --gpu h100-sxm5 --assume-bridge gen5x16 -o vm.json",
         add_topo_discover},
    Verb{"export", "write a topology in another format",
         "twinrun topo export dgx1-v100 --to nccl-xml -o topo.xml\n"
         "twinrun topo export dgx-a100:nodes=4 --to json",
         add_topo_export},
};

}  // namespace

Run add_topo(CLI::App& app) { return add_verbs(app, kTopoVerbs); }

}  // namespace twinrun::cli
