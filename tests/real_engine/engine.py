"""A vLLM on one core of this machine: started, waited for, read and ended.

    with Engine("FOLDER", "dense", {"max-num-batched-tokens": 512}) as engine:
        engine.gauges()     # {"num_requests_running": 0.0, ...}

The whole engine runs on core 0; who drives it and foretokend run on core 1.
"""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.request

ENGINE_CORE, DRIVER_CORE = 0, 1
START_SECONDS = 300
MAX_NUM_SEQS, BLOCK_TOKENS, MODEL_TOKENS = 16, 32, 2048
GAUGES = ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "num_preemptions_total")
VERSION = "0.32.0"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def flags(model, port, more):
    """Of `vllm serve`; None in `more`: a flag without a value."""
    stated = {"load-format": "dummy", "max-model-len": MODEL_TOKENS, "dtype": "bfloat16", "host": "127.0.0.1",
              "port": port, "served-model-name": model, "max-num-seqs": MAX_NUM_SEQS, "block-size": BLOCK_TOKENS,
              "no-enable-prefix-caching": None, "disable-uvicorn-access-log": None} | more
    if "enable-prefix-caching" in more:
        del stated["no-enable-prefix-caching"]
    return [part for name, value in stated.items() for part in (f"--{name}", *([] if value is None else [str(value)]))]


def environment(core):
    return os.environ | {"VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1",
                         "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "36000",
                         "VLLM_CPU_OMP_THREADS_BIND": str(core), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


class Engine:
    """Starts at once, and does not wait: several may start together."""

    def __init__(self, home, model, more=None, name=None, core=ENGINE_CORE):
        self.model, self.name, self.port = model, name or model, free_port()
        self.block_tokens = BLOCK_TOKENS
        self.more = dict(more or {})
        self.log_path = os.path.join(home, f"engine-{self.port}.log")
        command = ["taskset", "-c", str(core), os.path.join(home, "venv", "bin", "vllm"), "serve",
                   os.path.join(home, model), *flags(model, self.port, self.more)]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment(core),
                                            start_new_session=True)

    @property
    def stated_flags(self):
        """What distinguishes this engine, for a CSV cell."""
        return " ".join(f"--{name}" if value is None else f"--{name} {value}" for name, value in self.more.items())

    @property
    def batched_tokens(self):
        return self.more["max-num-batched-tokens"]

    def get(self, path, timeout=5):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=timeout) as reply:
            return reply.read().decode()

    def wait(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.get("/health")
                return self
            except OSError:
                time.sleep(1)
        raise RuntimeError("vLLM did not start:\n" + self.log()[-4000:])

    def gauges(self):
        text = self.get("/metrics")
        return {name: sum(float(value) for value in re.findall(rf"^vllm:{name}{{.*}} (\S+)$", text, re.M))
                for name in GAUGES}

    def kv_tokens(self):
        """Of the whole cache, as the engine's log tells."""
        found = re.search(r"GPU KV cache size: ([\d,]+) tokens|KV cache size: ([\d,]+) tokens", self.log())
        return int((found.group(1) or found.group(2)).replace(",", ""))

    def wait_until_idle(self, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            now = self.gauges()
            if not now["num_requests_running"] and not now["num_requests_waiting"]:
                return
            time.sleep(0.05)
        raise RuntimeError(f"not idle after {seconds} s: {now}")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def pause(self):
        """Idle workers take a percent or two of the core each, so those that are not asked stand still. A step that is
        stopped half way would be taken for a worker that hangs."""
        self.wait_until_idle()
        time.sleep(1)
        os.killpg(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self.process.pid, signal.SIGCONT)

    def stop(self):
        if self.process.poll() is None:
            self.resume()
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(timeout=30)

    def __enter__(self):
        return self.wait()

    def __exit__(self, *unused):
        self.stop()
