"""Asks a foretoken server how long LLM requests take before they run.

    import foretoken

    client = foretoken.Client("127.0.0.1:50051")
    reply = client.estimate("llama-3.1-8b", "nvidia-h100-sxm-80gb", prompt_tokens=2048, output_tokens=256)
    print(reply.estimate.ttft.seconds)
"""

from foretoken.client import Client
from foretoken.errors import Error, FieldError

__all__ = ["Client", "Error", "FieldError"]
