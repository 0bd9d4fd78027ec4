#!/usr/bin/env python3
"""Hosts on one machine: network namespaces on a bridge, each with a NIC of a given rate.

  testbed.py run --hosts 4 --rate 200Mbit [--server-rate 1Gbit] -- COMMAND…

run makes the hosts h0, h1, …, runs COMMAND and takes everything away again. COMMAND itself stays on the machine's network
and finds in its environment
  TESTBED_ENTER   a script: HOST WORDS… runs the words on that host
  TESTBED_HOSTS   the names of the hosts
  TWINRUN_MPIRUN  mpirun, started on h0: one rank a host, TCP between them
`-- bash` gives a shell to look around in. topology.py prints the same hosts for the simulation.

Exit status: COMMAND's, 128 + n when signal n ended it; 77 with a printed reason where hosts cannot be made.
"""

import argparse
import ctypes
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys

ENTER = pathlib.Path(__file__).resolve().with_name("enter_host.sh")
AGENT = ENTER.with_name("launch_agent.sh")
# A tmpfs of the testbed's own lies over this folder. enter_host.sh knows it too.
STATE = pathlib.Path("/dev/shm")
SKIPPED = 77
SECONDS_TO_END = 5  # that COMMAND has after a signal, before it is killed

# The most that TCP hands to a NIC at once. The default of 64 KB would have to fit into a bucket, or be cut up again by tbf.
LARGEST_PACKET = 16_384

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
PR_SET_PDEATHSIG = 1
SI_KERNEL = 0x80  # the terminal sent it, and to everyone


class Unavailable(Exception):
    """Hosts cannot be made here; the text says why."""


def check_machine():
    if os.geteuid() != 0:
        raise Unavailable("namespaces and tc need root")
    missing = [name for name in ("ip", "tc", "nsenter", "unshare", "mount", "hostname") if not shutil.which(name)]
    if missing:
        raise Unavailable(f"{', '.join(missing)} not found (Debian: iproute2, util-linux, hostname)")
    run("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "true")


RATE = re.compile(r"(\d+(?:\.\d+)?)([KMG])bit")


def rate(text):
    """A rate as tc writes it, checked."""
    if not RATE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no rate such as 200Mbit or 1Gbit")
    return text


def bytes_per_second(text):
    number, unit = RATE.fullmatch(text).groups()
    return float(number) * {"K": 1e3, "M": 1e6, "G": 1e9}[unit] / 8


# ---- the network ----

def run(*words, lines=()):
    done = subprocess.run([str(word) for word in words], input="\n".join(lines), capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


def on_host(name, *words, lines=()):
    run(ENTER, name, *words, lines=lines)


def address(number):
    return f"10.77.0.{number + 1}"


def make_namespace(name):
    """A network and a host name of its own. They live as long as something is in them, or as these files on our tmpfs."""
    folder = STATE / name
    folder.mkdir()
    for kind in ("net", "uts"):
        (folder / kind).touch()
    run("unshare", f"--net={folder / 'net'}", f"--uts={folder / 'uts'}", "hostname", name)


def shape(device, nic_rate):
    """tc's words for: what leaves through the device leaves at the rate."""
    speed = bytes_per_second(nic_rate)
    # What may pass at once. A timer that comes a millisecond late must not cost rate, and a message of 1 MB must not
    # slip through: a millisecond's worth, and at least the largest packet and one that waits behind it.
    burst = max(2 * LARGEST_PACKET, int(speed * 0.001))
    # What may wait: 20 ms, so that the windows of a few senders to one receiver fit. More would only be delay.
    limit = max(500_000, int(speed * 0.02))
    return f"qdisc replace dev {device} root tbf rate {speed * 8:.0f}bit burst {burst} limit {limit}"


def make_switch(rates):
    """A bridge with a cable to each host; a port sends to its host at the host's rate."""
    make_namespace("switch")
    cables = ["link add bridge type bridge", "link set bridge up"]
    for number in range(len(rates)):
        peer = STATE / f"h{number}" / "net"
        cables += [f"link add port{number} gso_max_size {LARGEST_PACKET} type veth "
                   f"peer name eth0 gso_max_size {LARGEST_PACKET} netns {peer}",
                   f"link set port{number} master bridge up"]
    on_host("switch", "ip", "-batch", "-", lines=cables)
    on_host("switch", "tc", "-batch", "-", lines=[shape(f"port{number}", rate) for number, rate in enumerate(rates)])


def switch_on(number, nic_rate):
    """The host's end of the cable, which sends at the same rate."""
    host = f"h{number}"
    on_host(host, "ip", "-batch", "-", lines=[f"address add {address(number)}/24 dev eth0", "link set lo up", "link set eth0 up"])
    on_host(host, "tc", *shape("eth0", nic_rate).split())
    # The one congestion control that every kernel lets a namespace have; the machine's own may be another.
    on_host(host, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno")


def make_network(rates):
    for number in range(len(rates)):
        make_namespace(f"h{number}")
    make_switch(rates)
    for number, nic_rate in enumerate(rates):
        switch_on(number, nic_rate)


# ---- what COMMAND is told ----

def name_the_hosts(names):
    """In /etc/hosts, as only this testbed sees it."""
    ours = [f"{address(number)} {name}\n" for number, name in enumerate(names)]
    (STATE / "hosts").write_text(pathlib.Path("/etc/hosts").read_text() + "".join(ours))
    run("mount", "--bind", STATE / "hosts", "/etc/hosts")


def environment(names):
    (STATE / "hostfile").write_text("".join(f"{name} slots=1\n" for name in names))
    return os.environ | {
        "TESTBED_ENTER": str(ENTER),
        "TESTBED_HOSTS": " ".join(names),
        "TWINRUN_MPIRUN": f"{ENTER} {names[0]} mpirun",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_orte_default_hostfile": str(STATE / "hostfile"),
        "OMPI_MCA_orte_tmpdir_base": str(STATE),
        "OMPI_MCA_plm_rsh_agent": str(AGENT),
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,tcp",  # and never shared memory
        # Plain sends. As it is set, a large message waits for a word of the other side that stands in line behind that side's
        # own large message: two hosts that exchange would have half of the rate.
        "OMPI_MCA_btl_tcp_flags": "1",
        "OMPI_MCA_btl_tcp_if_include": "eth0",
        "OMPI_MCA_oob_tcp_if_include": "eth0",
        "OMPI_MCA_hwloc_base_binding_policy": "none",  # all hosts share the machine's cores
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }


# ---- processes ----
#
#   owner            the one that was started; waits
#    `- first        process 1 of a process namespace, in a mount namespace of its own; makes the network
#        `- COMMAND, mpirun, ranks …
#
# The kernel kills all of a process namespace with its first process, and the first process dies with the owner (the
# parent-death signal), whatever kills that. Network, host names and files belong to the mount namespace's tmpfs and to
# those processes, so nothing is left that somebody would have to clean up, and nothing has a name outside.

SIGNALS = {signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def wait_for(child):
    """Reaps whatever ends, until the child does; hands signals on to it. Its exit status, 128 + n for signal n."""
    seconds = None
    while True:
        arrived = signal.sigtimedwait(SIGNALS, seconds) if seconds else signal.sigwaitinfo(SIGNALS)
        if arrived is None:
            os.kill(child, signal.SIGKILL)
        elif arrived.si_signo != signal.SIGCHLD and arrived.si_code != SI_KERNEL:
            os.kill(child, arrived.si_signo)
            seconds = SECONDS_TO_END
        ended = reap(child)
        if ended is not None:
            return ended


def reap(child):
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return None
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def call(name, *arguments):
    if getattr(LIBC, name)(*arguments) != 0:
        raise Unavailable(f"{name}: {os.strerror(ctypes.get_errno())}")


def die_with(owner_alive):
    """The signal at the owner's death, and a look whether that was before we asked for it: then the pipe has an end."""
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([owner_alive], [], [], 0)[0]:
        os._exit(1)


def be_first(rates, command):
    call("unshare", CLONE_NEWNS)
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    run("mount", "-t", "tmpfs", "tmpfs", STATE)
    make_network(rates)
    names = [f"h{number}" for number in range(len(rates))]
    name_the_hosts(names)
    try:
        return wait_for(os.posix_spawnp(command[0], command, environment(names), setsigmask=(),
                                        setsigdef=(signal.SIGINT, signal.SIGTERM)))  # a shell's background job ignores them
    except OSError as error:
        print(f"testbed: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127


def run_in_testbed(rates, command):
    owner_alive, owner = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    call("unshare", CLONE_NEWPID)
    first = os.fork()
    if first != 0:
        return wait_for(first)
    os.close(owner)
    die_with(owner_alive)
    sys.exit(be_first(rates, command))


def add_host_options(parser):
    parser.add_argument("--hosts", type=int, default=4, choices=range(1, 101), metavar="N")
    parser.add_argument("--rate", type=rate, default="200Mbit", help="of every NIC, in both directions")
    parser.add_argument("--server-rate", type=rate, help="of the last host's NIC, when it is another")


def rates_of(given):
    return [given.rate] * (given.hosts - 1) + [given.server_rate or given.rate]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verb = parser.add_subparsers(required=True).add_parser("run")
    add_host_options(verb)
    verb.add_argument("command", nargs="+")
    given = parser.parse_args()
    try:
        check_machine()
        return run_in_testbed(rates_of(given), given.command)
    except Unavailable as reason:
        print(f"testbed: skipped: {reason}", file=sys.stderr)
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
