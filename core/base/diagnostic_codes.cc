#include "core/base/diagnostic_codes.h"

#include <algorithm>
#include <array>

namespace twinrun {
namespace {

// E01xx reading text · E02xx shape of an object · E03xx topologies · E04xx plans · E05xx jobs ·
// E06xx lists of transfers and samples · E07xx options · E08xx traces · Wxxxx warnings.
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
    DiagnosticCode{
        "E0103", "a packed file cannot be unpacked",
        "Inputs may be packed by gzip. This one begins like such a file and is cut short "
        "or damaged."},
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
        "E0208", "one setting is given twice, under two names",
        "Many keys of a job have other names, short ones and those of Megatron, DeepSpeed "
        "and torchtitan. Two of them are there with different values, so one would have "
        "no effect. Keep one."},
    DiagnosticCode{"E0209", "a way of splitting that is not modelled",
                   "Context and expert parallelism are known by name, so that a configuration with "
                   "degree 1 can be read, but plans do not have them."},
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
    DiagnosticCode{"E0310", "the text is not XML",
                   "The position is where reading stopped: a tag that is not closed, a missing "
                   "quote, or a file cut short. An NCCL topology is what NCCL writes to the file "
                   "named by NCCL_TOPO_DUMP_FILE."},
    DiagnosticCode{"E0311", "the XML is not an NCCL topology",
                   "Its root element must be <system>. NCCL's graph files (<graphs>), hwloc's "
                   "(<topology>) and others are not topologies of this kind."},
    DiagnosticCode{"E0312", "an NCCL topology of an unknown version",
                   "NCCL reads version 1 only, and so does the import."},
    DiagnosticCode{"E0313", "an NCCL topology is too large",
                   "One host has some 100 lines. Files beyond 100 MB, 5,000 elements or 256 CPUs "
                   "are not read."},
    DiagnosticCode{"E0314", "an NCCL topology is nested too deep",
                   "PCI trees have fewer than ten levels; 64 are allowed."},
    DiagnosticCode{"E0315", "an attribute of an NCCL topology cannot be understood",
                   "A number is not a number or is out of range, or a <pci> lacks its busid. "
                   "Attributes that NCCL can do without may be missing, but not wrong."},
    DiagnosticCode{"E0316", "a PCI bus id is used twice",
                   "NVLinks and PCI links name their ends by bus id, so it must say one device."},
    DiagnosticCode{"E0317", "an NCCL topology is empty",
                   "There is no <cpu>, or neither GPU nor NIC below them."},
    DiagnosticCode{
        "E0319", "a topology cannot be written as NCCL XML",
        "NCCL's format describes one host: one node of one flat template, every GPU, NIC and PCIe "
        "switch below a CPU. Clusters and nested templates have no form in it."},
    DiagnosticCode{"E0320", "there is no such topology",
                   "A topology is a name of the catalogue (`twinrun topo list`), a file, \"-\" for "
                   "standard input, or an expression such as dgx-a100:nodes=16 or "
                   "single-switch:hosts=8,bandwidth=12.5GB/s."},
    DiagnosticCode{"E0321", "an expression cannot be understood",
                   "After the name and a colon come key=value pairs with commas between them: "
                   "dgx-a100:nodes=16,fabric=rail-optimized,nic=200Gb/s. Each key is given once; "
                   "the help line says what the key takes."},
    DiagnosticCode{"E0322", "the speed of a wire is not known",
                   "A wire is as fast as the \"nic\" of the nodes entry says, else the fabric's "
                   "\"bandwidth\", else the \"rate\" of the NIC's device. None of them is given."},
    DiagnosticCode{"E0323", "a key has no effect",
                   "This kind of fabric does not read the key, so what it was meant to say would "
                   "be lost: a single switch has no spines, a ring no oversubscription."},
    DiagnosticCode{"E0324", "there is no such device",
                   "Parts name devices from \"devices\" of the same file or from the catalogue "
                   "(topologies/devices.json). The help line names the nearest known one."},
    DiagnosticCode{"E0331", "a share of the peak cannot be",
                   "\"efficiency\" says which share of \"peak\" a device reaches: greater than 0, "
                   "about 0.5 to 0.95 for large matrix products. Up to 2 is accepted, with a "
                   "warning above 1."},
    DiagnosticCode{"E0332", "a list that says nothing",
                   "An empty \"efficiency\" or \"kernels\" would have no effect. Leave the key out "
                   "to use the built-in model."},
    DiagnosticCode{"E0333", "two points of a curve meet",
                   "For one kind and dtype a curve has one share at each number of FLOPs, and a "
                   "streaming curve one rate at each number of bytes, both greater than 0."},
    DiagnosticCode{"E0334", "a measured kernel is given twice",
                   "A GEMM of one shape and dtype has one time on a device; keep the better "
                   "measurement."},
    DiagnosticCode{"E0335", "what shares cores is no CPU",
                   "\"cores\" says how many cores CPU devices share. GPUs, NICs and switches named "
                   "there have none."},
    DiagnosticCode{"E0336", "a device shares cores twice",
                   "Two entries of \"cores\" name the same device: it would run on both."},
    DiagnosticCode{"E0337", "a grid of products does not fit together",
                   "\"products\" lists m, n and k in ascending order, and as many times \"us\" as "
                   "there are combinations: by m, then n, then k, each greater than 0."},
    DiagnosticCode{"E0401", "a dependency cycle",
                   "The ops wait for each other through \"after\", so none of them can ever start. "
                   "The message lists one way round: each op comes before the next, the last "
                   "before the first. Remove one of these dependencies."},
    DiagnosticCode{
        "E0402", "a stream is out of order",
        "Streams are first in, first out: ops of one device and stream run in file order. Here an "
        "op is queued before another one that it waits for, directly or through others, so the "
        "stream stops there. List the other op first, or put one of the two into another stream."},
    DiagnosticCode{"E0403", "ops can never start",
                   "These ops are not part of a cycle or deadlock themselves but wait behind one, "
                   "through \"after\", their stream or the op they must start together with. They "
                   "start once the other complaints are dealt with."},
    DiagnosticCode{"E0404", "an op waits for itself", "The op's own id stands in its \"after\"."},
    DiagnosticCode{"E0405", "a deadlock",
                   "Ops wait for each other through a mix of dependencies, the order of streams "
                   "and ops that start together (the ranks of a collective, a send and its recv). "
                   "The help line gives the reason of each step. A common cause: two devices that "
                   "each send before they receive, in one stream."},
    DiagnosticCode{"E0411", "an id is given twice",
                   "Every op needs an id of its own; traces and \"after\" refer to ops by id."},
    DiagnosticCode{
        "E0412", "an unknown id",
        "\"after\" names an op that the plan does not have. Ids are compared letter by letter."},
    DiagnosticCode{"E0413", "an unknown device",
                   "The plan uses a device that is not among its \"devices\", or that the topology "
                   "does not have. `twinrun topo show` lists the devices of a topology. A plan "
                   "without \"devices\" uses whatever its ops name."},
    DiagnosticCode{"E0414", "an unknown group",
                   "A collective names a group that is not among the plan's \"groups\"."},
    DiagnosticCode{"E0415", "a device is listed twice", "\"devices\" lists every device once."},
    DiagnosticCode{"E0421", "ranks issue collectives in different order",
                   "Each rank starts its collectives in the order of its stream, and a collective "
                   "starts when all its ranks are there. Two ranks with the same collectives in "
                   "different order wait for each other for ever, as they would with NCCL."},
    DiagnosticCode{"E0422", "ranks disagree about a collective",
                   "All ranks of a collective must name the same bytes, kind, algorithm, dtype and "
                   "root. Ops belong to one collective when they have the same group and the same "
                   "\"match\", by default the id up to the last '@'."},
    DiagnosticCode{"E0423", "a collective misses a rank",
                   "Every device of the group needs one op in the collective, or the others wait "
                   "for it for ever."},
    DiagnosticCode{"E0424", "a rank takes part in a collective twice",
                   "Two ops of one device have the same group and \"match\". If they are two "
                   "collectives, give them different \"match\" names."},
    DiagnosticCode{"E0425", "a device outside the group",
                   "The op's device is not in the group of its collective."},
    DiagnosticCode{"E0426", "a root is missing or outside the group",
                   "Broadcast and reduce need a \"root\", which must be a device of the group."},
    DiagnosticCode{"E0427", "a group names a device twice", "Every device of a group is one rank."},
    DiagnosticCode{"E0431", "a send without a recv",
                   "Sends and recvs meet by sender, receiver and tag, in file order. This send has "
                   "no recv to meet."},
    DiagnosticCode{"E0432", "a recv without a send",
                   "Sends and recvs meet by sender, receiver and tag, in file order. This recv has "
                   "no send to meet."},
    DiagnosticCode{"E0433", "a send and its recv disagree in size",
                   "Both must name the same bytes. When the sizes look shifted by one, a message "
                   "of that sender, receiver and tag is missing further up."},
    DiagnosticCode{"E0434", "a transfer from a device to itself",
                   "A copy, send or recv needs two different devices."},
    DiagnosticCode{
        "E0501", "an unknown model",
        "A model is a name of the catalogue (`twinrun model list`), a file of layers, or a "
        "Hugging Face config.json."},
    DiagnosticCode{
        "E0502", "a model without layers",
        "A model says either \"layers\", at least one, or \"transformer\", from which the "
        "layers follow."},
    DiagnosticCode{
        "E0503", "two layers have one name",
        "Every layer needs a name of its own; plans and traces refer to layers by name."},
    DiagnosticCode{"E0504", "a layer is tied to one that is not there",
                   "\"tied_to\" names an earlier layer whose first tensor serves here as well."},
    DiagnosticCode{"E0505", "a model too large to count",
                   "FLOPs, parameters or elements of one sample leave 64 bits. A sequence is "
                   "usually far too long, or a number has digits too many."},
    DiagnosticCode{"E0506", "a block is interrupted",
                   "The layers of a block stand one after the other: a block is what a pipeline "
                   "does not cut."},
    DiagnosticCode{"E0507", "a kind of configuration that is not known",
                   "\"model_type\" chooses how a Hugging Face config.json is read: llama, mistral, "
                   "qwen2 and qwen3, gpt2, bert. Another kind is read like llama when it has "
                   "\"rms_norm_eps\". Mixtures of experts are not modelled yet."},
    DiagnosticCode{
        "E0508", "heads do not divide",
        "The hidden size must be a multiple of the heads unless \"head_dim\" is given, and "
        "the heads a multiple of the key-value heads."},
    DiagnosticCode{"E0601", "a list of transfers has a column that is not known",
                   "The columns are start, src, dst and bytes, each at most once, in any order."},
    DiagnosticCode{"E0602", "a list of transfers lacks a column",
                   "The first line that is neither empty nor a comment (#) names the columns: src, "
                   "dst, bytes, and start where flows do not all start at 0."},
    DiagnosticCode{"E0603", "a line of a list of transfers has too many or too few fields",
                   "Every line has one field for each column of the header, with commas between."},
    DiagnosticCode{"E0604", "a field of a list of transfers is not a quantity",
                   "bytes and start are numbers that are not negative, with a unit or without: "
                   "25MB, 4096, 1.5us. A start without a unit is in microseconds."},
    DiagnosticCode{"E0605", "a transfer names a place that the topology does not have",
                   "src and dst are names of vertices (node0/gpu3) or numbers of hosts, counted "
                   "from 0 over all GPUs, or all CPUs where there is no GPU."},
    DiagnosticCode{"E0610", "a line of samples cannot be read",
                   "Every line has a sample and then its answer, all numbers, with commas between: "
                   "as many as the model has inputs, then a class, or (mean squares) as many as it "
                   "has outputs."},
    DiagnosticCode{
        "E0611", "samples do not fit the model",
        "A sample has as many numbers as the model has inputs; classes are whole numbers "
        "from 0, less than the model's outputs."},
    DiagnosticCode{"E0612", "an IDX file cannot be read",
                   "IMAGES,LABELS: two files in the format of MNIST, unpacked, with as many labels "
                   "as images."},
    DiagnosticCode{
        "E0701", "--set names a key that a job does not have",
        "A path is a block and a key, such as training.local_batch_size; name, model and "
        "topology stand alone. Below topology are the keys of its expression "
        "(topology.nodes), or of the object that the job or its file has there."},
    DiagnosticCode{
        "E0702", "a variable of the launcher is missing or wrong",
        "Processes that torchrun starts find each other by RANK, WORLD_SIZE, MASTER_ADDR and "
        "MASTER_PORT (LOCAL_RANK where it matters); the first listens at the port after "
        "MASTER_PORT, or at TWINRUN_PORT. torchrun sets them; whoever does it by hand sets all of "
        "them, alike in all processes but for the ranks."},
    DiagnosticCode{"E0801", "the trace is of another plan",
                   "A trace has the times of ops by their position in the plan that was run, and a "
                   "number made from their ids. Give the plan.json of the same run folder."},
    DiagnosticCode{"E0802", "the times of an op cannot be understood",
                   "Each entry of \"ops\" is [ready, start, end] in whole picoseconds; the end of "
                   "an op that never ran is -1."},
    DiagnosticCode{"E0803", "a trace of the wrong length",
                   "A trace has an entry for every op of its plan but those it says it left out, "
                   "and none for collectives that the plan does not have."},
    DiagnosticCode{"E0804", "an unknown way of doing a collective",
                   "Each entry of \"collectives\" is the position, counted from 0, of one in "
                   "\"collective_ways\"."},
    DiagnosticCode{"E0805", "a run folder is not complete",
                   "A folder of --out has plan.json, topology.json, trace.json, result.json and, "
                   "of a job, job.json. The result is written last."},
    DiagnosticCode{"E0811", "not a trace of a profiler",
                   "A trace of PyTorch's profiler is a JSON object with a list \"traceEvents\"; "
                   "profiler.export_chrome_trace(FILE) writes one a rank."},
    DiagnosticCode{"E0812", "two traces of one rank",
                   "Each rank of a run has one file, which says its rank in \"distributedInfo\" or "
                   "in its name (rank3.json)."},
    DiagnosticCode{
        "E0813", "no measurements of nccl-tests",
        "A file for \"calibrate --from nccl-tests\" has the table that all_reduce_perf and "
        "the like print, or the JSON they write with -J."},
    DiagnosticCode{
        "E0814", "no measurements of nvbandwidth",
        "A file for \"calibrate --from nvbandwidth\" has the matrices of host_to_device, "
        "device_to_host or device_to_device copies that nvbandwidth prints."},
    DiagnosticCode{"E0900", "an unknown strategy",
                   "The names are those of the table that the message suggests from; words may be "
                   "joined by _ or -."},
    DiagnosticCode{
        "E0901", "ranks that the topology does not have",
        "\"mapping.ranks\" is all, a number (the first so many devices), or names such as "
        "node0/gpu3 separated by commas, each once."},
    DiagnosticCode{
        "E0902", "degrees do not fit the devices",
        "tensor × pipeline × shard × replicate must be the number of devices; the degree "
        "that is left out takes what the others leave."},
    DiagnosticCode{"E0903", "batch sizes contradict each other",
                   "local batch × replicas = global batch, micro-batch × micro-batches = local "
                   "batch: give two of three and the third follows."},
    DiagnosticCode{"E0904", "a batch cannot be divided",
                   "Every replica takes as many samples as the others, and every micro-batch too."},
    DiagnosticCode{
        "E0905", "more stages than blocks",
        "A model is cut between its blocks (`twinrun model show` lists them); each chunk "
        "of a stage needs one at least."},
    DiagnosticCode{"E0906", "attention heads do not divide",
                   "Tensor parallelism gives each rank as many heads as the others."},
    DiagnosticCode{"E0907", "a balance that does not fit",
                   "One number for each stage (and chunk), which add up to the model's blocks."},
    DiagnosticCode{
        "E0908", "an unknown order of ranks",
        "tp, dp and pp, each once, joined by -, the one that moves fastest first; cp and "
        "ep may stand between."},
    DiagnosticCode{"E0909", "a strategy cannot do that",
                   "The strategy has no such dimension; the message names one that has."},
    DiagnosticCode{"E0910", "nothing to offload to",
                   "Activations and weights go to the memory of the CPU in the rank's machine; "
                   "weights only where each rank has and updates all of its own."},
    DiagnosticCode{"E0920", "no place for a parameter server",
                   "\"gpu0\" needs a rank, \"cpu\" a CPU in the machines with ranks, \"hosts\" "
                   "machines with the role server, or (colocated) the CPUs of those with ranks, or "
                   "machines without ranks."},
    DiagnosticCode{"E0921", "servers that cannot be",
                   "There is one server at least, and \"staleness\" is a number of steps."},
    DiagnosticCode{"E0922", "a strategy of one machine on several",
                   "nn.DataParallel is one process and MirroredStrategy one machine's: their ranks "
                   "share it. The message names the strategy for several machines."},
    DiagnosticCode{"E1001", "two rows of a case have one name",
                   "Rows are told apart by their names, in reports and in \"relative_to\"."},
    DiagnosticCode{"E1002", "a row is relative to one that is not there",
                   "\"relative_to\" is the name of a row of the same file."},
    DiagnosticCode{"E1003", "a case is not clear about what was measured",
                   "A case has a \"job\", measured in samples_per_s or step_s, or a "
                   "\"collective\", measured in time_s."},
    DiagnosticCode{"W0201", "the GPU model is not known",
                   "Files written by hand often list GPUs only by their PCI class. Bandwidths are "
                   "right, but compute rate and memory are not known: name the model with --gpu."},
    DiagnosticCode{"W0202", "the speed of NICs is not known",
                   "NCCL takes 10 Gb/s when nothing better is known, and so does the import. Name "
                   "the rate with --nic."},
    DiagnosticCode{"W0203", "the GPU model is a guess",
                   "The file gives the compute capability only; the usual GPU with it is taken. "
                   "Name the model with --gpu."},
    DiagnosticCode{
        "W0205", "a PCI bridge is implausibly slow",
        "In virtual machines a bridge may report 2.5 GT/s x1, 0.2 GB/s, whatever the hardware "
        "does, and NCCL believes it and builds its rings around it. Give NCCL the physical tree "
        "with NCCL_TOPO_FILE, and the import a plausible speed with --assume-bridge gen5x16."},
    DiagnosticCode{"W0206", "an NVLink leads to the GPU itself",
                   "The target is the bus id of the same GPU. Some hand-written files have this; "
                   "the link is left out."},
    DiagnosticCode{"W0207", "an NVLink leads to an unknown GPU",
                   "The target is a bus id that the file does not have; the link is left out."},
    DiagnosticCode{"W0208", "NVLinks differ between the two directions",
                   "Each GPU lists its links; the two lists of a pair should agree. The larger "
                   "count is taken both ways."},
    DiagnosticCode{"W0209", "a CPU of unknown make",
                   "NCCL knows the bandwidth between sockets of Intel, AMD, Arm and POWER CPUs; "
                   "for others it assumes no limit."},
    DiagnosticCode{"W0210", "an NCCL topology exceeds NCCL's own limits",
                   "NCCL holds 256 elements, 640 children, 16 attributes and 255 characters a "
                   "value, and refuses files beyond."},
    DiagnosticCode{"W0211", "the speed of PCI links is not known",
                   "The link_speed is missing or not one that NCCL knows; it then takes gen3, 12 "
                   "GB/s for 16 lanes."},
    DiagnosticCode{"W0212", "a PCI device is left out",
                   "By its class it is a GPU or a NIC, but others of the file have a <gpu> or "
                   "<net> element and this one has none: NCCL does not use it."},
    DiagnosticCode{"W0213", "an NCCL topology of several hosts",
                   "A dump of a whole NVLink domain. It becomes one node; its CPUs are joined "
                   "within each host only."},
    DiagnosticCode{"W0214", "a PCI link leads nowhere",
                   "The target of a <pcilink> is not a switch of the file; the link is left out."},
    DiagnosticCode{"W0220", "a PCI device runs with fewer lanes than it could",
                   "The slot is narrower than the card, the card is not seated well, or lanes are "
                   "shared with another slot. The topology has the lanes that are in use."},
    DiagnosticCode{"W0221", "a GPU of another maker is left out",
                   "The catalogue, the rules for direct transfers and the executor know NVIDIA's "
                   "GPUs. Others can be added to the file by hand, with figures of their own."},
    DiagnosticCode{"W0222", "a network port without a link is left out",
                   "The system says that nothing is at the other end of the cable, or that the "
                   "port is switched off."},
    DiagnosticCode{"W0223", "PCI devices do not say where they are",
                   "Firmware tells the system which processor each slot belongs to; virtual "
                   "machines and some boards leave it out. The first NUMA node is taken."},
    DiagnosticCode{"W0224", "hwloc and /sys differ",
                   "Both describe this machine's processors, memory and slots. hwloc's words are "
                   "taken: it corrects what firmware is known to say wrong, and launchers such as "
                   "Open MPI's and Slurm's bind processes by it."},
    DiagnosticCode{"W0301", "the machines are not connected",
                   "There are several machines but neither a \"fabric\" nor \"links\", so nothing "
                   "can travel between them."},
    DiagnosticCode{"W0302", "an oversubscription has no effect",
                   "All machines share one switch, or the switches have no uplinks, so there is "
                   "nothing to oversubscribe."},
    DiagnosticCode{
        "W0303", "a device is connected to nothing",
        "No link of its template or of the fabric touches it, so it can compute but never "
        "send or receive. A link was probably forgotten, or a name in one mistyped."},
    DiagnosticCode{"W0311", "something has no form in NCCL XML",
                   "NCCL's format has no memories, latencies of links, prices, fabrics or "
                   "overrides, and PCIe speeds only by generation and lanes."},
    DiagnosticCode{"W0312", "NCCL will apply another P2P rule",
                   "NCCL derives how far GPUs talk directly from the CPU and the number of GPUs; "
                   "set NCCL_P2P_LEVEL to the class that the topology says."},
    DiagnosticCode{"W0331", "a share of the peak is above 1",
                   "A device can beat its peak on paper when it runs at a higher clock, or when an "
                   "algorithm such as Winograd's saves FLOPs. More often the peak is too low."},
    DiagnosticCode{"W0401", "the plan has no ops", "Nothing will happen when it runs."},
    DiagnosticCode{
        "W0501", "a key of a configuration is not read",
        "A Hugging Face config.json may hold anything; this key changes nothing here. If "
        "it changes the model's sizes, they are wrong."},
    DiagnosticCode{"W0502", "a part of a configuration is not modelled",
                   "The message says what is assumed instead."},
    DiagnosticCode{
        "W0503", "samples are longer than the table of positions",
        "A model with learned positions cannot take more tokens than the table has rows; "
        "sizes are computed all the same."},
    DiagnosticCode{"W0601", "start times have no effect",
                   "With --window each flow starts when an earlier one ends, in the order of the "
                   "list."},
    DiagnosticCode{"W0701", "an option has no effect",
                   "The run would have been the same without it; the message says why."},
    DiagnosticCode{"W0702", "a key of another tool is not read",
                   "The job holds a block of another tool, of which only some keys have a meaning "
                   "here. The run is as if this key were not there."},
    DiagnosticCode{"W0801", "a trace is not complete",
                   "The run had more ops than a trace file takes. Those that were left out count "
                   "as not run, and the steps they belong to are not compared."},
    DiagnosticCode{"W0901", "devices without work",
                   "The degrees of the job use fewer devices than the topology has."},
    DiagnosticCode{
        "W0902", "tensor parallelism without effect",
        "Attention and pairs of dense layers are divided among the ranks; a model without "
        "them is computed by all of them alike."},
};

}  // namespace

std::span<const DiagnosticCode> diagnostic_codes() { return kCodes; }

const DiagnosticCode* find_diagnostic_code(std::string_view code) {
  const auto* found = std::find_if(kCodes.begin(), kCodes.end(),
                                   [&](const DiagnosticCode& row) { return row.code == code; });
  return found == kCodes.end() ? nullptr : found;
}

}  // namespace twinrun
