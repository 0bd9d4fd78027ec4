"""Starts the processes of a run with the variables that torchrun gives them, on this machine.

  like_torchrun.py PROCESSES PROGRAM ARGUMENT …   ends with the first exit code that is not 0, and then all others
"""

import os
import random
import socket
import subprocess
import sys
import time

OTHERS = ("OMPI_", "PMI_", "PMIX_", "SLURM_", "TORCHELASTIC_")  # of a launcher around this one


def free_port(host="127.0.0.1"):
    """A port such that the one behind it is free. Not of those that the system gives to clients."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((host, port + 1))
                return port
            except OSError:
                pass


def variables(rank, size, port, host="127.0.0.1"):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
    return {**kept, "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size),
            "MASTER_ADDR": host, "MASTER_PORT": str(port)}


def main(size, *command):
    port = free_port()
    processes = [subprocess.Popen(command, env=variables(rank, size, port)) for rank in range(size)]
    failed = None
    while failed is None and any(process.poll() is None for process in processes):
        failed = next((process for process in processes if process.poll() not in (None, 0)), None)
        time.sleep(0.05)
    failed = failed or next((process for process in processes if process.poll() != 0), None)
    if failed is None:
        return 0
    until = time.monotonic() + 20  # they see it themselves, and say so
    while time.monotonic() < until and any(process.poll() is None for process in processes):
        time.sleep(0.1)
    for process in processes:
        process.kill()
    code = failed.returncode
    return code if code > 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
