"""The runs that are predicted: one perceptron, trained in every way on 1, 2 and 4 CPU devices with three batch sizes."""

# Widths and batches that calibrate does not measure: it takes powers of two, and three times such.
MODEL = "mlp-784-600-400-200-10"
BATCHES = (48, 144, 432)

SERVER = {"strategy": "parameter_server"}


def ways(devices):
    """By name: what the job adds. A batch is that of the step, whatever divides it."""
    if devices == 1:
        return {"single": {"parallelism": {"strategy": "single"}}}
    return {
        "all_reduce (ring)": {"parallelism": {"strategy": "ddp", "all_reduce_algorithm": "ring"}},
        "parameter_server (central)": {"parallelism": SERVER, "server": {"placement": "cpu", "count": 1}},
        "parameter_server (sharded)": {"parallelism": SERVER, "server": {"placement": "cpu", "count": devices}},
        "gpipe": {"parallelism": {"strategy": "gpipe", "pipeline_parallel_degree": devices}},
        "tensor_parallel": {"parallelism": {"strategy": "tensor_parallel", "tensor_parallel_degree": devices}},
    }


def training(way, devices, batch):
    keys = {"dtype": "fp32", "optimizer": "sgd", "learning_rate": 0.01, "global_batch_size": batch}
    return keys | ({"micro_batch_size": batch // 4} if way == "gpipe" else {})


def cpu_cases(machine):
    for devices in (1, 2, 4):
        for way, more in ways(devices).items():
            for batch in BATCHES:
                name = f"{way}, {devices} device{'s' if devices > 1 else ''}, batch {batch}"
                file = "-".join(name.replace("(", "").replace(")", "").replace(",", "").split())
                yield {"name": name, "file": file,
                       "job": {"schema": "twinrun/job/1", "name": name, "model": MODEL, "topology": f"{machine}:devices={devices}",
                               "training": training(way, devices, batch)} | more}
