"""The testbed's hosts: joined by the bridge alone, as fast as asked, and gone afterwards, whatever ends them.

Skipped with a printed reason where hosts cannot be made. MPI_PROBE names the built mpi_probe, or is empty.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TESTBED = HERE / "testbed.py"
PROBE = os.environ.get("MPI_PROBE")
SKIPPED = 77

# Runs in Python on the hosts: send N bytes to a host, which says how many seconds they took to arrive.
RECEIVE = """
import socket, sys, time
with socket.create_server(("", 7000)) as server:
    peer, _ = server.accept()
    begin = time.monotonic()
    while peer.recv(1 << 20):
        pass
    print(time.monotonic() - begin)
"""
SEND = """
import socket, sys, time
def connect():
    while True:
        try:
            return socket.create_connection((sys.argv[1], 7000), timeout=3)
        except ConnectionRefusedError:
            time.sleep(0.05)  # does not listen yet
with connect() as peer:
    peer.sendall(bytes(int(sys.argv[2])))
"""


def run(script, *options, **more):
    """A shell script as COMMAND, with `on HOST WORDS…` in it."""
    script = 'on() { "$TESTBED_ENTER" "$@"; }\n' + script
    command = [sys.executable, TESTBED, "run", *map(str, options), "--", "sh", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def transfer(source, target, size):
    """Shell lines that print the seconds of a transfer."""
    return f"""
      on {target} {sys.executable} -c '{RECEIVE}' & receiver=$!
      on {source} {sys.executable} -c '{SEND}' {target} {size}
      wait $receiver
    """


@contextlib.contextmanager
def waiting_testbed():
    """Is up meanwhile."""
    with subprocess.Popen([TESTBED, "run", "--", "sh", "-c", "echo up; read line"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.stdin.close()


def machine_network():
    """The names and addresses of the interfaces outside of any testbed, and the names of namespaces."""
    links = json.loads(subprocess.run(["ip", "-j", "address"], capture_output=True, text=True, check=True).stdout)
    named = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [(link["ifname"], [entry["local"] for entry in link["addr_info"]]) for link in links], named


def users_of(namespace):
    """Processes that are in the namespace net:[…], have it open or see it mounted."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            open_files = [os.readlink(file) for file in process.glob("fd/*")]
            mounts = (process / "mountinfo").read_text()
            if namespace in open_files or f" {namespace} " in mounts or os.readlink(process / "ns/net") == namespace:
                found.append((process.name, (process / "cmdline").read_text().replace("\0", " ")))
        except OSError:
            continue  # ended meanwhile
    return found


class Network(unittest.TestCase):
    def test_hosts_reach_each_other_by_name(self):
        done = run(transfer("h0", "h1", 1000), "--hosts", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(float(done.stdout), 0)

    def test_hosts_reach_each_other_only_through_the_switch(self):
        done = run("on switch ip link set port1 down" + transfer("h0", "h1", 1000).replace("wait", "kill"), "--hosts", 3)
        self.assertRegex(done.stderr, "timed out|No route to host")
        routes = run("on h0 ip route", "--hosts", 2).stdout.splitlines()
        self.assertEqual([line.split()[:3] for line in routes], [["10.77.0.0/24", "dev", "eth0"]])

    def test_each_direction_of_a_nic_has_its_rate(self):
        size = 4_000_000
        pairs = [("h0", "h1"), ("h0", "h2"), ("h2", "h1")]
        done = run("".join(transfer(*pair, size) for pair in pairs), "--hosts", 3, "--rate", "400Mbit", "--server-rate",
                   "50Mbit")
        fast, into_slow, from_slow = [float(line) for line in done.stdout.splitlines()]
        # Eight times as long is right; a busy machine may make the fast one slower.
        self.assertTrue(2 < into_slow / fast < 12, (fast, into_slow))
        self.assertTrue(2 < from_slow / fast < 12, (fast, from_slow))
        # And never faster than the wire, but for what is in the buckets.
        self.assertGreater(into_slow, 0.98 * size * 8 / 50e6)

    def test_nothing_is_seen_outside(self):
        before = machine_network()
        done = run("ip -j address; on h0 true; ip netns list", "--hosts", 2)
        links = [link["ifname"] for link in json.loads(done.stdout.splitlines()[0])]
        self.assertEqual(links, [name for name, _ in before[0]])
        with waiting_testbed():
            self.assertEqual(machine_network(), before)
            self.assertNotIn("10.77.", pathlib.Path("/etc/hosts").read_text())
        self.assertEqual(machine_network(), before)

    def test_two_testbeds_at_once(self):
        with waiting_testbed() as other:
            self.assertEqual(run(transfer("h0", "h1", 1000)).returncode, 0)
            self.assertIsNone(other.poll())


class Mpi(unittest.TestCase):
    def setUp(self):
        if not PROBE or not shutil.which("mpirun"):
            self.skipTest("no mpirun, or mpi_probe was not built")

    def test_a_rank_a_host_over_tcp(self):
        done = run(f'$TWINRUN_MPIRUN "{PROBE}" && on h1 cat /sys/class/net/eth0/statistics/rx_bytes', "--hosts", 3,
                   "--rate", "1Gbit")
        self.assertEqual(done.returncode, 0, done.stderr)
        found, received = done.stdout.splitlines()
        self.assertEqual(json.loads(found)["hosts"], ["h0", "h1", "h2"])
        # 8 MB three times to h1: they went through its NIC, not through shared memory.
        self.assertGreater(int(received), 24_000_000)


class End(unittest.TestCase):
    """A process on a host that nobody waits for, in a session of its own, must be gone afterwards too."""

    def start(self, begin="", end="exec sleep 1000"):
        script = f"""
          on() {{ "$TESTBED_ENTER" "$@"; }}
          {begin}
          on h1 setsid sleep 1000 &
          on h1 readlink /proc/self/ns/net
          {end}
        """
        process = subprocess.Popen([sys.executable, TESTBED, "run", "--hosts", "2", "--", "sh", "-c", script],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        namespace = process.stdout.readline().strip()
        self.assertRegex(namespace, r"net:\[\d+\]")
        return process, namespace

    def assert_gone(self, namespace):
        deadline = time.monotonic() + 5
        while users_of(namespace) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(users_of(namespace), [])

    def end_with(self, number, status):
        process, namespace = self.start()
        self.assertNotEqual(users_of(namespace), [])
        process.send_signal(number)
        self.assertEqual(process.wait(timeout=30), status)
        self.assert_gone(namespace)

    def test_of_the_command(self):
        process, namespace = self.start(end="exit 5")
        self.assertEqual(process.wait(timeout=30), 5)
        self.assert_gone(namespace)

    def test_by_interrupt(self):
        self.end_with(signal.SIGINT, 128 + signal.SIGINT)

    def test_by_request(self):
        self.end_with(signal.SIGTERM, 128 + signal.SIGTERM)

    def test_by_kill_9(self):
        self.end_with(signal.SIGKILL, -signal.SIGKILL)

    def test_of_a_command_that_ignores_requests(self):
        process, namespace = self.start(begin="trap '' TERM")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=30), 128 + signal.SIGKILL)
        self.assert_gone(namespace)

    def test_by_a_fault_while_it_is_made(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("testbed.py", "launch_agent.sh", "enter_host.sh"):
                shutil.copy(HERE / name, folder)
            log = pathlib.Path(folder, "namespace")
            enter = pathlib.Path(folder, "enter_host.sh")
            enter.write_text(enter.read_text().replace(
                "exec", f'if [ "$1" = tc ]; then nsenter --net="/dev/shm/$host/net" readlink /proc/self/ns/net >{log}; exit 9; fi\nexec'))
            done = subprocess.run([pathlib.Path(folder, "testbed.py"), "run", "--", "true"], capture_output=True, text=True)
            self.assertEqual(done.returncode, SKIPPED, done.stderr)
            self.assertIn("switch tc -batch", done.stderr)
            self.assert_gone(log.read_text().strip())


if __name__ == "__main__":
    tried = subprocess.run([TESTBED, "run", "--hosts", "1", "--", "true"], capture_output=True, text=True)
    if tried.returncode == SKIPPED:
        print(tried.stderr.strip())
        sys.exit(SKIPPED)
    unittest.main()
