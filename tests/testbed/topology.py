#!/usr/bin/env python3
"""The testbed's hosts as a topology that twinrun simulates.

  topology.py --hosts 4 --rate 200Mbit [--server-rate 1Gbit] --latency-us 30

Nothing in it is fitted: the bandwidth follows from the rate, the latency is what mpi_probe measures on the testbed, and the
device is the catalogue's cpu-core, of which every host has its share.
"""

import argparse
import json
import os

import testbed

# Of an Ethernet frame's 1514 bytes (tbf counts no preamble and no checksum) 1448 are a TCP stream's: 14 are Ethernet's,
# 20 IP's, 32 TCP's with time stamps.
PAYLOAD_SHARE = 1448 / 1514


def payload_rate(rate):
    """Bytes a second that a TCP stream has through a NIC of that rate."""
    return testbed.bytes_per_second(rate) * PAYLOAD_SHARE


def cable(number, rate, latency_us):
    return {"from": f"node{number}/cpu0", "to": "switch0", "kind": "network",
            "bandwidth": f"{payload_rate(rate) / 1e6:.6f}MB/s", "line_rate": f"{testbed.bytes_per_second(rate) / 1e6:.6f}MB/s",
            "latency": f"{latency_us / 2:.3f}us",
            "source": "tc's rate less headers; half of what mpi_probe takes for a small message one way"}


def topology(rates, latency_us):
    hosts = len(rates)
    share = min(1, len(os.sched_getaffinity(0)) / hosts)
    return {
        "schema": "twinrun/topology/1", "name": f"testbed of {hosts} hosts",
        "templates": {"host": {"parts": [{"name": "cpu", "count": 1, "device": "cpu-core"}], "links": []}},
        "nodes": {"host": hosts},
        "switches": [{"name": "switch"}],
        "links": [cable(number, rate, latency_us) for number, rate in enumerate(rates)],
        "overrides": [{"vertices": "node*/cpu0", "compute_scale": share, "memory_bandwidth_scale": share,
                       "source": "the machine's cores over the hosts"}],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    testbed.add_host_options(parser)
    parser.add_argument("--latency-us", type=float, required=True, help="of a small message, one way")
    given = parser.parse_args()
    print(json.dumps(topology(testbed.rates_of(given), given.latency_us), indent=1))


if __name__ == "__main__":
    main()
