#!/usr/bin/env python3
"""Server or ring? The same training job measured on the testbed and simulated on its topology.

  server_or_ring.py --program TWINRUN --probe MPI_PROBE [--hosts 2,4] [--rates 200Mbit,400Mbit] [--steps 5]

A perceptron of 2.1 M parameters (8.4 MB of gradients) with few samples, so that the network decides. Three ways: all-reduce
over a ring, one parameter server on the first host, and as many servers as hosts with a share of the weights each.
Nothing of the simulation is fitted to the run: see topology.py.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import testbed
import topology

WAYS = {
    "ring": {"parallelism": {"strategy": "ddp", "all_reduce_algorithm": "ring"}},
    "one server": {"parallelism": {"strategy": "parameter_server"}, "server": {"placement": "hosts", "count": 1}},
    "a server a host": {"parallelism": {"strategy": "parameter_server"}, "server": {"placement": "hosts"}},
}
WARMUP_STEPS = 1


class Failed(Exception):
    """A command that a measurement needs; the text is what it said."""


def output(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode == testbed.SKIPPED:
        print(done.stderr.strip())
        sys.exit(testbed.SKIPPED)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return done.stdout


def on_testbed(hosts, rate, *command):
    return json.loads(output([testbed.__file__, "run", "--hosts", hosts, "--rate", rate, "--", *command]))


def job(way, hosts, rate, latency_us):
    return {"schema": "twinrun/job/1", "name": way, "model": "mlp-1024-1024-1024-10",
            "topology": topology.topology([rate] * hosts, latency_us),
            "training": {"local_batch_size": 4, "dtype": "fp32", "optimizer": "sgd", "learning_rate": 0.01}} | WAYS[way]


def step_times(given, hosts, rate, way, latency_us):
    """Seconds of a step: measured (the reason in words where that is not possible), and simulated."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "job.json")
        file.write_text(json.dumps(job(way, hosts, rate, latency_us)))
        simulated = json.loads(output([given.program, "simulate", file, "--format", "json"]))["step_s"]
        try:
            measured = on_testbed(hosts, rate, given.program, "execute", file, "--backend", "mpi", "-n", hosts, "--steps",
                                  given.steps, "--warmup-steps", WARMUP_STEPS, "--format", "json")["step_s"]
        except Failed as reason:
            measured = str(reason)
        return measured, simulated


def print_network(hosts, rate, found):
    payload = topology.payload_rate(rate) / 1e6
    shares = [f"{found[key] / 1e6:.1f} MB/s ({found[key] / 1e4 / payload - 100:+.1f} %)" for key in ("stream_Bps", "into_first_Bps")]
    print(f"\n{hosts} hosts at {rate}: {payload:.1f} MB/s of payload are asked; MPI reaches {shares[0]} from one to one, {shares[1]} "
          f"from all to one; a small message takes {found['latency_s'] * 1e6:.0f} us")


def print_table(times):
    print(f"  {'':16}{'measured ms':>12}{'simulated ms':>14}{'error %':>9}")
    for way, (measured, simulated) in times.items():
        if isinstance(measured, str):
            print(f"  {way:16}{'-':>12}{simulated * 1e3:14.1f}          {measured.splitlines()[0]}")
        else:
            print(f"  {way:16}{measured * 1e3:12.1f}{simulated * 1e3:14.1f}{100 * (simulated / measured - 1):+9.1f}")
    fastest = [min(times, key=lambda way: times[way][i]) for i in (0, 1)]
    if not any(isinstance(measured, str) for measured, _ in times.values()):
        print(f"  fastest measured: {fastest[0]}; simulated: {fastest[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--probe", required=True, type=pathlib.Path)
    parser.add_argument("--hosts", default="2,4")
    parser.add_argument("--rates", default="200Mbit,400Mbit")
    parser.add_argument("--steps", default=5, type=int)
    given = parser.parse_args()
    for hosts in map(int, given.hosts.split(",")):
        for rate in given.rates.split(","):
            found = on_testbed(hosts, rate, "sh", "-c", f"$TWINRUN_MPIRUN '{given.probe.resolve()}'")
            print_network(hosts, rate, found)
            print_table({way: step_times(given, hosts, rate, way, found["latency_s"] * 1e6) for way in WAYS})


if __name__ == "__main__":
    main()
