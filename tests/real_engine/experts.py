"""Times the routed experts of the mixture alone, as the engine runs them: kernels for `register-hardware --kernels`.

    taskset -c 0 FOLDER/venv/bin/python experts.py > kernels.csv

One layer's experts, by the engine's own operator, from 1 token to 2,048. Tokens choose their experts at random. Layers
take turns, as in a model, so that no weights wait in a cache.
"""

import csv
import statistics
import sys
import time

from engine import VERSION
from machine import HARDWARE_ID
from models import ATTENTION, MIXTURE

TOKENS = (1, 2, 4, 8, 16, 24, 32, 64, 128, 256, 512, 1024, 2048)
LAYERS, WARM_UP = 4, 4
SECONDS, MOST_REPEATS = 1.5, 60  # of each number of tokens
INSTRUCTIONS = "vec"  # without AMX
COLUMNS = ["hardware", "engine", "engine_version", "implementation", "weight_dtype", "activation_dtype", "matrices",
           "tokens", "experts_per_token", "rows", "experts", "hidden_size", "width", "seconds"]


def layers():
    import torch
    from vllm import _custom_ops as ops
    experts, width, hidden = MIXTURE["num_local_experts"], MIXTURE["intermediate_size"], ATTENTION["hidden_size"]
    def packed(*shape):
        return ops.cpu_prepack_moe_weight((torch.randn(*shape) / 32).to(torch.bfloat16), INSTRUCTIONS)
    return [(packed(experts, 2 * width, hidden), packed(experts, hidden, width)) for _ in range(LAYERS)]


def run_once(weights, tokens):
    """(seconds, experts that have rows)."""
    import torch
    from vllm import _custom_ops as ops
    chosen = MIXTURE["num_experts_per_tok"]
    scores, ids = torch.topk(torch.rand(tokens, MIXTURE["num_local_experts"]), chosen)
    rows = torch.randn(tokens, ATTENTION["hidden_size"]).to(torch.bfloat16)
    out, ids = torch.empty_like(rows), ids.to(torch.int32)
    start = time.perf_counter()
    ops.cpu_fused_moe(out, rows, *weights, None, None, scores, ids, "silu", INSTRUCTIONS)
    return time.perf_counter() - start, len(ids.unique())


def timed(all_layers, tokens):
    """(median seconds, mean experts)."""
    seen = [run_once(all_layers[i % LAYERS], tokens) for i in range(WARM_UP)]
    repeats = int(min(MOST_REPEATS, max(5, SECONDS / statistics.median(seconds for seconds, _ in seen))))
    seen = [run_once(all_layers[i % LAYERS], tokens) for i in range(repeats)]
    return statistics.median(seconds for seconds, _ in seen), statistics.fmean(experts for _, experts in seen)


def main():
    import torch
    torch.set_num_threads(1)
    writer, all_layers = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n"), layers()
    writer.writeheader()
    for tokens in TOKENS:
        seconds, experts = timed(all_layers, tokens)
        writer.writerow({
            "hardware": HARDWARE_ID, "engine": "vllm", "engine_version": VERSION, "implementation": "cpu_fused_moe",
            "weight_dtype": "bf16", "activation_dtype": "bf16", "matrices": 3, "tokens": tokens,
            "experts_per_token": MIXTURE["num_experts_per_tok"], "rows": tokens * MIXTURE["num_experts_per_tok"],
            "experts": round(experts, 2), "hidden_size": ATTENTION["hidden_size"],
            "width": MIXTURE["intermediate_size"], "seconds": f"{seconds:.6g}"})


if __name__ == "__main__":
    main()
