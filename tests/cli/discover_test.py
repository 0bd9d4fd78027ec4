#!/usr/bin/env python3
"""topo discover as people type it: this machine, and one out of files."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TWINRUN = os.environ["TWINRUN"]
NVML = os.environ.get("TWINRUN_FAKE_NVML", "")


def run(*arguments, **environment):
    return subprocess.run([TWINRUN, *arguments], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "TWINRUN_NVML": "none", "TWINRUN_CUDA_PLUGIN": "none", **environment})


def has_hwloc():
    parts = json.loads(run("doctor", "--format", "json").stdout)["parts"]
    return next(part["status"] for part in parts if part["name"] == "hwloc") == "ok"


HAS_HWLOC = has_hwloc()


class Discover(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, path, text):
        target = self.folder / "machine" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")

    def add_pci(self, *way, **files):
        """A device below the bridges of its way, with its files of the kernel."""
        folder = f"sys/devices/pci{way[0][:7]}/" + "/".join(way)
        for name, text in files.items():
            self.write(f"{folder}/{name}", text)
        link = self.folder / "machine/sys/bus/pci/devices" / way[-1]
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(pathlib.Path("../../../..") / folder)

    def two_gpus(self, speed="16.0 GT/s PCIe", width="16"):
        """Two A100 behind a switch, or what a virtual machine shows of them."""
        link = {"max_link_speed": speed, "max_link_width": width, "current_link_width": width, "numa_node": "0"}
        bridge = {"class": "0x060400", "vendor": "0x1000", "device": "0x1", **link}
        gpu = {"class": "0x030200", "vendor": "0x10de", "device": "0x20b2", **link}
        self.add_pci("0000:00:01.0", **bridge)
        self.add_pci("0000:00:01.0", "0000:01:00.0", **bridge)
        for i in range(2):
            port = f"0000:02:0{i}.0"
            self.add_pci("0000:00:01.0", "0000:01:00.0", port, **bridge)
            self.add_pci("0000:00:01.0", "0000:01:00.0", port, f"0000:0{3 + i}:00.0", **gpu)
        self.write("sys/devices/system/cpu/online", "0-1")
        self.write("proc/sys/kernel/hostname", "box")
        return str(self.folder / "machine")

    def test_this_machine_is_a_topology_that_runs(self):
        file = str(self.folder / "here.json")
        done = run("topo", "discover", "--measure", "-o", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("NUMA node", done.stdout)
        self.assertIn(f"wrote {file}", done.stderr)
        self.assertEqual(run("topo", "validate", file).returncode, 0)
        text = pathlib.Path(file).read_text()
        self.assertIn("measured, copies by one", text)
        job = {"model": "mlp-64-32-10", "topology": file, "training": {"local_batch_size": 8}}
        (self.folder / "job.json").write_text(json.dumps(job))
        ran = run("simulate", str(self.folder / "job.json"), "--format", "json")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertGreater(json.loads(ran.stdout)["step_s"], 0)

    def test_the_same_machine_twice_is_the_same_text(self):
        self.assertEqual(run("topo", "discover", "--format", "json").stdout,
                         run("topo", "discover", "--format", "json").stdout)

    def test_every_number_has_a_source(self):
        done = run("topo", "discover", "--root", self.two_gpus(), "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        topology = json.loads(done.stdout)
        for device in topology["devices"].values():
            self.assertTrue(device["source"])
        for link in topology["templates"]["box"]["links"]:
            self.assertTrue(link["source"])

    def test_gpus_of_files_are_shown_and_simulated_with(self):
        file = str(self.folder / "box.json")
        done = run("topo", "discover", "--root", self.two_gpus(), "-o", file)
        self.assertEqual((done.returncode, done.stderr.count("warning")), (0, 0), done.stderr)
        self.assertIn("2 × a100-sxm4-80gb", done.stdout)
        ran = run("collective", "all_reduce", "--topology", file, "-b", "64M", "-e", "64M", "--format", "json")
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_virtual_bridges_are_warned_about_and_can_be_replaced(self):
        root = self.two_gpus("2.5 GT/s PCIe", "1")
        done = run("topo", "discover", "--root", root)
        self.assertEqual(done.returncode, 0)
        self.assertIn("W0205", done.stderr)
        self.assertIn("2.5 GT/s x1", done.stderr)
        replaced = run("topo", "discover", "--root", root, "--assume-bridge", "gen4x16")
        self.assertNotIn("W0205", replaced.stderr)

    def test_output_goes_where_it_is_told(self):
        root = self.two_gpus()
        on_output = run("topo", "discover", "--root", root, "-o", "-")
        as_json = run("topo", "discover", "--root", root, "--format", "json")
        self.assertEqual(json.loads(on_output.stdout), json.loads(as_json.stdout))
        file = self.folder / "there.json"
        file.write_text("mine")
        self.assertEqual(run("topo", "discover", "--root", root, "-o", str(file)).returncode, 2)
        self.assertEqual(file.read_text(), "mine")
        self.assertEqual(run("topo", "discover", "--root", root, "-o", str(file), "--force").returncode, 0)
        self.assertEqual(json.loads(file.read_text())["name"], "box")

    def test_what_cannot_be_is_refused(self):
        root = self.two_gpus()
        for arguments, words in ((["--root", root, "--measure"], "--root describes another"),
                                 (["--root", str(self.folder / "nowhere")], "neither sys nor proc"),
                                 (["--hwloc", "numa:1 pu:1", "--measure"], "--hwloc describes another"),
                                 (["--hwloc", "numa:1 pu:1", "--root", root], "two machines"),
                                 (["--nic", "fast"], "no rate of a NIC"),
                                 (["--assume-bridge", "gen9x1"], "not a PCIe speed")):
            done = run("topo", "discover", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
        unknown = run("topo", "discover", "--root", root, "--gpu", "h1000")
        self.assertEqual(unknown.returncode, 3, unknown.stderr)

    def test_hwloc_is_asked_beside_sysfs_and_not_needed(self):
        without = json.loads(run("topo", "discover", "--format", "json", TWINRUN_HWLOC="none").stdout)
        self.assertEqual(without["source"], "this machine: sysfs")
        if not HAS_HWLOC:
            self.skipTest("hwloc is not installed")
        done = run("topo", "discover", "--format", "json")
        self.assertNotIn("W0224", done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["source"], "this machine: sysfs, hwloc")
        for topology in (found, without):
            del topology["source"], topology["templates"][topology["name"]]["source"]
        self.assertEqual(found, without)

    @unittest.skipIf(not HAS_HWLOC, "hwloc is not installed")
    def test_hwlocs_words_are_taken_where_the_two_differ(self):
        # Nobody has a node 5: hwloc is told that this is such a machine.
        done = run("topo", "discover", "--format", "json", HWLOC_SYNTHETIC="numa:1(indexes=5) pu:4096", HWLOC_THISSYSTEM="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("W0224"), 1, done.stderr)
        topology = json.loads(done.stdout)
        cores = [core for part in topology["templates"][topology["name"]]["parts"] if part["name"] == "cpu" for core in part["ids"]]
        self.assertEqual(cores, [f"5/{cpu}" for cpu in sorted(os.sched_getaffinity(0))])
        # Where it is told of another machine, it is not asked about this one.
        other = run("topo", "discover", "--format", "json", HWLOC_SYNTHETIC="numa:1(indexes=5) pu:4096")
        self.assertEqual(json.loads(other.stdout)["source"], "this machine: sysfs")

    @unittest.skipIf(not HAS_HWLOC, "hwloc is not installed")
    def test_another_machine_in_hwlocs_short_form(self):
        done = run("topo", "discover", "--hwloc", "package:2 numa:1 core:3 pu:2", "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        topology = json.loads(done.stdout)
        self.assertEqual(topology["description"], "0 NICs, 2 NUMA nodes of 6 cores")
        self.assertEqual(topology["source"], "this machine: hwloc")
        self.assertEqual(topology["templates"]["machine"]["parts"][0]["ids"], ["0/0", "0/2", "0/4", "1/6", "1/8", "1/10"])

    def test_what_hwloc_cannot_read_is_refused(self):
        without = run("topo", "discover", "--hwloc", "numa:1 pu:1", TWINRUN_HWLOC="none")
        self.assertEqual(without.returncode, 4, without.stderr)
        self.assertIn("none cannot be opened", without.stderr)
        if not HAS_HWLOC:
            self.skipTest("hwloc is not installed")
        # Without complete_cpuset hwloc 2.9 itself crashes.
        whole = 'cpuset="0x1" allowed_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1"'
        self.write("lacks.xml", f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" {whole} gp_index="1">
    <object type="NUMANode" os_index="0" {whole} complete_cpuset="0x1" gp_index="2" local_memory="4096"/>
    <object type="PU" os_index="0" {whole} complete_cpuset="0x1" gp_index="3"/>
  </object>
</topology>""")
        self.write("cut.xml", (self.folder / "machine/lacks.xml").read_text()[:400])
        files = [str(self.folder / "machine" / name) for name in ("lacks.xml", "cut.xml")]
        for nonsense in (*files, __file__, str(self.folder), "nowhere.xml"):
            done = run("topo", "discover", "--hwloc", nonsense)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("hwloc cannot read", done.stderr)

    def test_names_are_as_given(self):
        done = run("topo", "discover", "--root", self.two_gpus(), "--name", "lab", "--gpu", "h100-sxm5", "--format", "json")
        topology = json.loads(done.stdout)
        self.assertEqual(topology["name"], "lab")
        self.assertEqual(topology["templates"]["lab"]["parts"][0]["device"], "h100-sxm5")

    @unittest.skipIf(not NVML, "there is no library in the place of the driver's")
    def test_gpus_that_only_the_driver_knows_are_there_with_their_nvlinks(self):
        done = run("topo", "discover", "--format", "json", TWINRUN_NVML=NVML)
        self.assertEqual(done.returncode, 0, done.stderr)
        topology = json.loads(done.stdout)
        self.assertIn("nvml", topology["source"])
        machine = topology["templates"][topology["name"]]
        gpus = [bus_id for part in machine["parts"] if part["name"] == "gpu" for bus_id in part["ids"]]
        self.assertEqual(gpus, ["0000:65:00.0", "0000:b3:00.0", "10000:01:00.0"])
        nvlinks = {(link["from"], link["to"]): link["count"] for link in machine["links"] if link["kind"] == "nvlink"}
        self.assertEqual(nvlinks, {("gpu0", "gpu1"): 4, ("gpu[0-1]", "nvswitch0"): 2})


if __name__ == "__main__":
    unittest.main()
