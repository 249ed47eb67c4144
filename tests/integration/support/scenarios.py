"""Requests that several tests start from."""


def scenario(**changes):
    """Llama 3.1 8B on one H100: it fits and every figure is in the catalog. `changes` replace whole parts."""
    base = {
        "model_id": "llama-3.1-8b",
        "hardware_id": "nvidia-h100-sxm-80gb",
        "workload": {"batch_size": 8, "prompt_tokens": 1024, "output_tokens": 128},
    }
    return {key: value for key, value in {**base, **changes}.items() if value is not None}


def hardware(identifier, **changes):
    """A registrable accelerator of round figures."""
    spec = {
        "id": identifier,
        "display_name": "Test accelerator",
        "vendor": "test",
        "kind": "HARDWARE_KIND_ACCELERATOR",
        "memory_capacity_bytes": 96 * 10**9,
        "memory_bandwidth_bytes_per_second": 2e12,
        "peak": {"fp32_flops_per_second": 50e12, "bf16_flops_per_second": 400e12, "fp16_flops_per_second": 400e12},
        "sources": [{"citation": "made up for a test"}],
    }
    return {**spec, **changes}


def model(identifier, **changes):
    """A small registrable decoder."""
    spec = {
        "id": identifier,
        "family": "test",
        "num_hidden_layers": 4,
        "hidden_size": 512,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "intermediate_size": 1536,
        "vocab_size": 32000,
        "sources": [{"citation": "made up for a test"}],
    }
    return {**spec, **changes}
