"""What is reachable for a live state: the engine's own schedule, with every length known.

After the probe nobody else arrives. So which tokens run in which step follows from the state alone, and the probe's
time is linear in the constants of a step: a start, a time per prompt token, per decode, per token of context that
decodes read, and per pair of tokens that prompts attend to. These are fitted to one half of the states and tried on the
other.

An error here is noise: of the machine, and of the step that was half done when the probe came. What foretoken's error
has beyond it is the model's, or lies in what a LiveLoad does not tell. To tell these apart, the same schedule runs with
what a LiveLoad tells of the running sequences, and with the least remaining output beside it.
"""

FEATURES = 5
MOST_STEPS = 5000
ALL, MEANS, LEAST = "exact schedule", "exact schedule of means", "of means and the least"  # what it is told


class Sequence:
    """Counts of tokens; `left`: of the prompt, to be prefilled."""

    def __init__(self, prompt, output, left, received=0):
        self.prompt, self.left, self.received, self.output = prompt, left, received, output

    @property
    def context(self):
        return self.prompt - self.left + self.received


def added(one, other):
    return [x + y for x, y in zip(one, other)]


def one_step(running, waiting, budget, seats):
    """Runs a step, as vLLM V1 plans it: what runs first, in its order, then what waits. Its features; ended sequences
    leave `running`."""
    features = [0.0] * FEATURES
    features[0] = 1
    plan = []
    for sequence in running:
        tokens = min(sequence.left or 1, budget)
        plan.append((sequence, tokens))
        budget -= tokens
    while waiting and budget > 0 and len(running) < seats:
        sequence = waiting.pop(0)
        running.append(sequence)
        plan.append((sequence, min(sequence.left, budget)))
        budget -= plan[-1][1]
    for sequence, tokens in plan:
        features = added(features, advance(sequence, tokens))
    running[:] = [sequence for sequence in running if sequence.received < sequence.output]
    return features


def advance(sequence, tokens):
    if not tokens:
        return [0.0] * FEATURES
    if not sequence.left:
        sequence.received += 1
        return [0, 0, 1, sequence.context, 0]
    before = sequence.prompt - sequence.left
    sequence.left -= tokens
    sequence.received += sequence.left == 0
    return [0, tokens, 0, 0, tokens * (before + tokens / 2)]


def by_means(running, tells):
    """As a LiveLoad tells of them: all have the mean context, and they end one after the other, evenly. If `tells` has
    the least that one of them has left, they end evenly from there."""
    count = max(1, len(running))
    context = round(sum(sequence.context for sequence in running) / count)
    left = [sequence.output - sequence.received for sequence in running]
    mean, least = sum(left) / count, min(left, default=0)
    def of(i):
        if tells == MEANS:
            return 2 * mean * (i + 1) / (count + 1)
        return least + 2 * (mean - least) * i / max(1, count - 1)
    return [Sequence(context, max(1, round(of(i))) + 1, 0, 1) for i in range(len(running))]


def sequences(row, requests, begun, left, tells):
    """What runs, the oldest first, and what waits. `begun`: prompts that run without a token; of their tokens `left`
    are to be prefilled, and the engine takes the oldest first."""
    def of(request, of_prompt):
        return Sequence(int(request["prompt_tokens"]), int(request["output_tokens"]), of_prompt,
                        int(request["received_tokens"]))
    running = [of(r, 0) for r in requests if int(r["received_tokens"]) and int(r["remaining_tokens"]) > 0]
    if tells != ALL:
        running = by_means(running, tells)
    done = sum(int(r["prompt_tokens"]) for r in begun) - left
    for request in begun:
        of_this = min(done, int(request["prompt_tokens"]) - 1)
        done -= of_this
        running.append(of(request, int(request["prompt_tokens"]) - of_this))
    waiting = [of(r, int(r["prompt_tokens"])) for r in sorted(requests, key=lambda r: float(r["sent_s"]))
               if not int(r["received_tokens"]) and r not in begun]
    return running, waiting


def probe_features(row, requests, begun, left, tells):
    """Sums of features to the probe's first token and to its last. Half of the step that runs when it comes counts."""
    running, waiting = sequences(row, requests, begun, left, tells)
    budget, seats = int(row["max_num_batched_tokens"]), int(row["max_num_seqs"])
    cached = int(row["probe_cached_tokens"] or 0)
    prompt = int(row["probe_prompt_tokens"])
    probe = Sequence(prompt, int(row["probe_output_tokens"]), prompt - min(cached, prompt - 1))
    total = [0.5 * feature for feature in one_step(running, waiting, budget, seats)]
    if not requests:
        total = [0.0] * FEATURES  # idle
    waiting.append(probe)
    first = None
    for _ in range(MOST_STEPS):
        total = added(total, one_step(running, waiting, budget, seats))
        if probe.received and first is None:
            first = total
        if probe.received >= probe.output:
            return first, total
    raise ValueError(f"{row['state']} does not end")


def solved(matrix, right):
    """Of linear equations, by elimination with pivots."""
    rows = [[*line, value] for line, value in zip(matrix, right)]
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda i, c=column: abs(rows[i][c]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for i in range(size):
            if i != column:
                factor = rows[i][column] / rows[column][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[column])]
    return [rows[i][size] / rows[i][i] for i in range(size)]


def least_squares(features, seconds, used):
    """Of relative errors, by the normal equations."""
    lines = [[line[i] / time for i in used] for line, time in zip(features, seconds)]
    matrix = [[sum(line[i] * line[j] for line in lines) for j in range(len(used))] for i in range(len(used))]
    return solved(matrix, [sum(line[i] for line in lines) for i in range(len(used))])


def fit(features, seconds):
    """Constants of a step, none below 0."""
    used = [i for i in range(FEATURES) if any(line[i] for line in features)]
    while True:
        found = least_squares(features, seconds, used)
        if min(found) >= 0:
            break
        used.pop(found.index(min(found)))
    constants = dict(zip(used, found))
    return [constants.get(i, 0.0) for i in range(FEATURES)]


def dot(features, constants):
    return sum(feature * constant for feature, constant in zip(features, constants))


def predictions(rows, features):
    """{state: {"ttft": seconds, "e2e": seconds, "tpot": seconds}}, by constants of the other half."""
    found = {}
    for half in (0, 1):
        fitted = [i for i in range(len(rows)) if i % 2 != half]
        seen = [(features[i][at], float(rows[i][f"probe_{metric}_s"]))
                for i in fitted for at, metric in enumerate(("ttft", "e2e"))]
        constants = fit(*zip(*seen))
        for i in range(half, len(rows), 2):
            ttft, e2e = (dot(line, constants) for line in features[i])
            steps = max(1, int(rows[i]["probe_output_tokens"]) - 1)
            found[rows[i]["state"]] = {"ttft": ttft, "e2e": e2e, "tpot": (e2e - ttft) / steps}
    return found
