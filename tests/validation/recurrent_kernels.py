"""Errors of the recurrence of docs/model/layers.md on kernels timed alone.

    recurrent_kernels.py linear_attention.csv.gz

The table has a row per kernel: table (gdn, kda, mamba2), phase (context, generation, verify), framework, hardware (a
catalog id), sizes, latency_s. It is the kernel tables of ai-dynamo/aiconfigurator in one file and not in this tree.
Written apart from the estimator, with its formulas. A launch takes one start time, of which the estimator knows nothing
(its layer_gap holds it): it is fitted to the other devices. The devices' figures come from the catalog.
"""

import collections
import csv
import gzip
import math
import os
import re
import statistics
import sys

HARDWARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../catalogs/hardware")
EFF_KV, EFF_RECURRENCE, CHUNK = 0.84, 1.4, 64


def device(name):
    """Bandwidth and fp32 peak that the catalog states."""
    with open(os.path.join(HARDWARE, name + ".textproto"), encoding="utf-8") as file:
        text = file.read()
    figures = ("memory_bandwidth_bytes_per_second", "fp32_flops_per_second")
    return [float(re.search(figure + r":\s*([\d.e+]+)", text).group(1)) for figure in figures]


def price(row, bandwidth, peak):
    """Time of one layer, in seconds, without a start time."""
    mamba = row["table"] == "mamba2"
    names = ("n_groups", "d_state", "nheads", "head_dim") if mamba else (
        "num_k_heads", "head_k_dim", "num_v_heads", "head_v_dim")
    key_heads, key, heads, value = (float(row[name]) for name in names)
    tokens, batch = float(row["num_tokens"]), float(row["batch_size"])
    state = key * value
    if row["phase"] == "context" and mamba:
        chunk = float(row["chunk_size"])
        flops = tokens * (key_heads * 2 * chunk * key + heads * (2 * chunk * value + 4 * state))
        elements = tokens * (key_heads * 4 * key + heads * (4 * value + 2 * state / chunk))
        passes = 2
    elif row["phase"] == "context":
        flops = tokens * heads * (2 * CHUNK * (3 * key + 2 * value) + 6 * state)
        elements = tokens * heads * (7 * key + 6 * value + 4 * CHUNK + 2 * state / CHUNK)
        passes = 2
    else:
        each = tokens / batch if row["phase"] == "verify" else 1
        flops = batch * each * heads * state * (5 if mamba else 7)
        elements = batch * each * 2 * (key_heads * key + heads * value)
        passes = 1 + each
    size = elements * 2 + batch * passes * heads * state * 4
    return math.hypot(flops / (peak * EFF_RECURRENCE), size / (bandwidth * EFF_KV))


def errors(pairs, start):
    return [abs((predicted + start) / measured - 1) for predicted, measured in pairs]


def best_start(pairs):
    """The start time of 0 to 80 us with the least median error."""
    return min((statistics.median(errors(pairs, us * 1e-6)), us * 1e-6) for us in range(80))[1]


def main(path):
    devices = {}
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if "conv" in row["kernel_source"]:
                continue
            name = row["hardware"]
            if name not in devices:
                devices[name] = device(name)
            pair = (price(row, *devices[name]), float(row["latency_s"]))
            groups[row["table"], row["phase"], row["framework"]][name].append(pair)
    for kernels, of in sorted(groups.items()):
        everything, each = [], []
        for name, pairs in sorted(of.items()):
            others = [pair for other in of if other != name for pair in of[other]] or pairs
            left_out = errors(pairs, best_start(others))
            everything += left_out
            each.append(f"{name} {statistics.median(left_out):.0%}")
        print(*kernels, f"{statistics.median(everything):.0%}:", ", ".join(each))


if __name__ == "__main__":
    main(sys.argv[1])
