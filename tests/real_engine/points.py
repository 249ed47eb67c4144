"""What the loops offer, the most valuable first."""


def closed(users, prompt, output, requests, prompt_min=None, output_min=None, **more):
    return {"batch_size": users, "prompt_tokens": prompt, "output_tokens": output, "requests": requests,
            "prompt_tokens_min": prompt_min or prompt, "output_tokens_min": output_min or output, **more}


def opened(rate, prompt, output, requests, cv=1, prompt_min=None, output_min=None):
    return {"request_rate": rate, "arrival_cv": cv, "prompt_tokens": prompt, "output_tokens": output,
            "requests": requests, "prompt_tokens_min": prompt_min or prompt, "output_tokens_min": output_min or output}


CLOSED = [  # 16 seats: 24 users wait for one
    closed(1, 256, 64, 6), closed(8, 256, 64, 40), closed(16, 256, 64, 64), closed(24, 256, 64, 72),
    closed(4, 512, 128, 20, 64, 16), closed(16, 512, 128, 64, 64, 16), closed(24, 512, 128, 72, 64, 16),
    closed(2, 256, 64, 12), closed(4, 256, 64, 20), closed(8, 512, 128, 40, 64, 16), closed(2, 1024, 128, 12, 32, 16),
    closed(1, 1024, 32, 6), closed(1, 32, 16, 10), closed(4, 32, 128, 16), closed(8, 128, 128, 32),
    closed(8, 1024, 32, 24), closed(16, 64, 128, 48), closed(24, 128, 32, 96), closed(16, 1024, 64, 32, 32, 16),
    closed(2, 1024, 16, 12), closed(4, 512, 32, 20), closed(16, 512, 32, 48), closed(24, 64, 64, 96),
    closed(1, 512, 128, 4), closed(24, 1024, 64, 48, 32, 16)]

OTHER_BUDGET = [  # of those above
    closed(8, 256, 64, 40), closed(16, 256, 64, 64), closed(16, 512, 128, 48, 64, 16), closed(24, 128, 32, 96),
    closed(4, 512, 32, 20), closed(8, 1024, 32, 24), closed(24, 512, 128, 48, 64, 16), closed(1, 1024, 32, 6)]

MIXTURE = [
    closed(1, 256, 64, 6), closed(8, 256, 64, 32), closed(16, 256, 64, 48), closed(24, 256, 64, 48),
    closed(16, 512, 128, 32, 64, 16), closed(4, 256, 64, 16), closed(4, 32, 128, 12), closed(1, 1024, 32, 5),
    closed(2, 512, 128, 8, 64, 16), closed(8, 1024, 32, 16), closed(16, 64, 128, 32), closed(24, 128, 32, 48)]

PREFIX = [closed(users, 512, 32, requests, cached_prefix_tokens=384) for users, requests in ((1, 8), (4, 24), (16, 64))]
PREFIX.append(closed(16, 640, 64, 48, 448, 16, cached_prefix_tokens=384))

SMALL_CACHE = [closed(16, 128, 128, 48), closed(16, 256, 64, 48), closed(16, 256, 128, 32, 64, 32),
               closed(8, 256, 128, 24)]


def open_loops(capacity, prompt, output, prompt_min=None, output_min=None, seconds=40):
    """Poisson's at 30, 60 and 85% of the capacity (requests/s), then in bursts."""
    return [opened(round(share * capacity, 3), prompt, output, int(share * capacity * seconds), cv, prompt_min,
                   output_min) for cv in (1, 3) for share in (0.6, 0.85, 0.3)]
