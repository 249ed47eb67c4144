"""One core of this machine as foretoken's HardwareSpec: rates that a microbenchmark reached here, on standard output.

    taskset -c 0 FOLDER/venv/bin/python machine.py > cpu.textproto

The roofs are the best that was reached, because no datasheet tells what one core of a virtual machine may use. Matrices
are of 1,024 x 1,024 and larger; memory is read by a sum over 512 MiB, far more than the caches hold.
"""

import platform
import re
import time

HARDWARE_ID = "lab-cpu-one-core"
REPEATS = 7
READ_BYTES = 512 << 20
SPEC = """# proto-file: foretoken/v1/hardware.proto
# proto-message: foretoken.v1.HardwareSpec

id: "{id}"
display_name: "{name}, one core"
vendor: "{vendor}"
kind: HARDWARE_KIND_CPU

memory_capacity_bytes: {memory}
memory_bandwidth_bytes_per_second: {bandwidth:.3g}

peak {{
  fp32_flops_per_second: {fp32:.3g}
  bf16_flops_per_second: {bf16:.3g}
}}

sources {{
  citation: "Measured by tests/real_engine/machine.py, {day}, torch {torch}, {system}"
}}

notes: "Not peaks of a datasheet: the best of {repeats} repeats on one core of a virtual machine."
"""


def cpu_name():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        text = file.read()
    name, family, model = (re.search(rf"^{key}\s*: (.*)", text, re.M).group(1)
                           for key in ("model name", "cpu family", "model"))
    return f"{name}, family {family} model {model}"


def memory_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        return 1024 * int(re.search(r"MemTotal:\s+(\d+)", file.read()).group(1))


def best_seconds(work):
    work()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def flops_per_second(dtype):
    import torch
    best = 0.0
    for size in (1024, 2048):
        a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
        best = max(best, 2 * size**3 / best_seconds(lambda a=a, b=b: torch.mm(a, b)))
    return best


def read_bytes_per_second():
    import torch
    values = torch.ones(READ_BYTES // 8, dtype=torch.float64)
    return READ_BYTES / best_seconds(values.sum)


def spec():
    import torch
    torch.set_num_threads(1)
    return SPEC.format(
        id=HARDWARE_ID, name=cpu_name(), vendor=cpu_name().split()[0].lower(), memory=memory_bytes(),
        bandwidth=read_bytes_per_second(), fp32=flops_per_second(torch.float32), bf16=flops_per_second(torch.bfloat16),
        day=time.strftime("%Y-%m-%d"), torch=torch.__version__, system=f"{platform.system()} {platform.release()}",
        repeats=REPEATS)


if __name__ == "__main__":
    print(spec(), end="")
