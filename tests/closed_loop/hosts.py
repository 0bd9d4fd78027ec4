"""Server or ring between hosts: each network of the testbed is measured by `twinrun calibrate --backend mpi`, then the
same training job is predicted on what that wrote, and run."""

import json
import statistics
import subprocess

import server_or_ring
import testbed

HOSTS = (2, 4)
RATES = ("200Mbit", "400Mbit")
WAYS = ("ring", "one server")
STEPS, WARMUP_STEPS = 8, 1


def on_testbed(count, rate, *command):
    words = [testbed.__file__, "run", "--hosts", count, "--rate", rate, "--", *command]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def measured_topology(given, count, rate):
    """None where hosts cannot be made; the reason was printed."""
    file = given.out / f"hosts-{count}-{rate}.json"
    done = on_testbed(count, rate, given.program, "calibrate", "--backend", "mpi", "-n", count, "--one-machine", "--quick", "-o", file,
                      "--force")
    if done.returncode == testbed.SKIPPED:
        print(done.stderr.strip())
        return None
    done.check_returncode()
    return file


def step_s(output):
    return statistics.median(json.loads(output)["step_s_each"])


def row_of(given, count, rate, way, machine):
    job = given.out / "testbed" / f"{way.replace(' ', '-')}-{count}-{rate}.json"
    job.parent.mkdir(exist_ok=True)
    job.write_text(json.dumps(server_or_ring.job(way, count, rate, 0) | {"topology": str(machine)}, indent=1))
    simulated = subprocess.run([given.program, "simulate", job, "--steps", "4", "--format", "json"], capture_output=True, text=True,
                               check=True)
    executed = on_testbed(count, rate, given.program, "execute", job, "--backend", "mpi", "-n", count, "--steps", STEPS, "--warmup-steps",
                          WARMUP_STEPS, "--format", "json")
    executed.check_returncode()
    network = f"{count} hosts at {rate}"
    return {"case": f"{way}, {network}", "network": network, "way": way, "predicted_s": json.loads(simulated.stdout)["step_s"],
            "measured_s": step_s(executed.stdout)}


def measure(given):
    rows = []
    for count in HOSTS:
        for rate in RATES:
            machine = measured_topology(given, count, rate)
            if machine is None:
                return rows
            rows += [row_of(given, count, rate, way, machine) for way in WAYS]
    return rows
