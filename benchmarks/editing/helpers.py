"""The parts of a training script that train nothing: texts, files, measures, tables."""

from __future__ import annotations

HELPERS = """

class Tokens:
    def __init__(self, words, unknown="<unk>", padding="<pad>"):
        self.words = [padding, unknown, *sorted(set(words))]
        self.numbers = {word: number for number, word in enumerate(self.words)}
        self.unknown = self.numbers[unknown]
        self.padding = self.numbers[padding]

    def __len__(self):
        return len(self.words)

    def encode(self, text, length):
        found = [self.numbers.get(word, self.unknown) for word in text.lower().split()]
        found = found[:length]
        return found + [self.padding] * (length - len(found))

    def decode(self, row):
        return " ".join(self.words[number] for number in row if number != self.padding)

    def save(self, path):
        path.write_text(json.dumps(self.words, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path):
        tokens = cls([])
        tokens.words = json.loads(path.read_text(encoding="utf-8"))
        tokens.numbers = {word: number for number, word in enumerate(tokens.words)}
        return tokens


class Lines(Dataset):
    def __init__(self, path, tokens, length, fraction=1.0):
        lines = path.read_text(encoding="utf-8").splitlines()
        lines = [line for line in lines if line.strip()]
        kept = int(len(lines) * fraction)
        rows = [tokens.encode(line, length + 1) for line in lines[:kept]]
        self.rows = torch.tensor(rows, dtype=torch.long)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        return row[:-1], row[1:]


class Noise:
    def __init__(self, chance, replacement, seed=0):
        self.chance = chance
        self.replacement = replacement
        self.random = random.Random(seed)

    def __call__(self, row):
        return [self.replacement if self.random.random() < self.chance else token for token in row]


def perplexity(loss):
    try:
        return math.exp(loss)
    except OverflowError:
        return float("inf")


def longest_common(first, second):
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first, start=1):
        for j, b in enumerate(second, start=1):
            if a == b:
                table[i][j] = table[i - 1][j - 1] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table[-1][-1]


def overlap(written, wanted):
    if not written or not wanted:
        return 0.0
    common = longest_common(written, wanted)
    precision, recall = common / len(written), common / len(wanted)
    return 2 * precision * recall / max(1e-9, precision + recall)


class Log:
    def __init__(self, folder, name="log.csv"):
        self.path = folder / name
        self.fields = None
        self.started = time.time()

    def write(self, **values):
        values = {"seconds": round(time.time() - self.started, 1), **values}
        is_new = self.fields is None
        self.fields = self.fields or list(values)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.fields)
            if is_new:
                writer.writeheader()
            writer.writerow(values)

    def read(self):
        if not self.path.exists():
            return []
        with self.path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def newest(folder, pattern="step-*.pt"):
    found = sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def save(folder, step, model, optimizer, scheduler, keep=3):
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        "step": step,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }
    torch.save(state, folder / f"step-{step}.pt")
    for path in sorted(folder.glob("step-*.pt"), key=lambda path: path.stat().st_mtime)[:-keep]:
        path.unlink()


def restore(path, model, optimizer, scheduler):
    state = torch.load(path, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    return state["step"]


class Average:
    def __init__(self, model, decay=0.999):
        self.decay = decay
        self.values = {name: value.detach().clone() for name, value in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for name, value in model.state_dict().items():
            kept = self.values[name]
            if kept.dtype.is_floating_point:
                kept.mul_(self.decay).add_(value.detach(), alpha=1 - self.decay)
            else:
                kept.copy_(value)

    def copy_to(self, model):
        model.load_state_dict(self.values)


@torch.no_grad()
def write(model, row, count, temperature=1.0, top=20):
    model.eval()
    for _ in range(count):
        logits = model(row.unsqueeze(0))[0, -1] / temperature
        values, places = logits.topk(min(top, logits.size(-1)))
        choice = torch.multinomial(values.softmax(-1), 1)
        row = torch.cat([row, places[choice]])
    model.train()
    return row


def describe(model):
    lines = []
    total = 0
    for name, parameter in model.named_parameters():
        count = parameter.numel()
        total += count
        lines.append(f"{name:40} {str(tuple(parameter.shape)):>20} {count:>10}")
    lines.append(f"{'all':40} {'':>20} {total:>10}")
    return lines


class Patience:
    def __init__(self, rounds, least=0.0):
        self.rounds = rounds
        self.least = least
        self.best = float("inf")
        self.waited = 0

    def is_over(self, value):
        if value < self.best - self.least:
            self.best = value
            self.waited = 0
        else:
            self.waited += 1
        return self.waited >= self.rounds


class Buckets:
    # Batches of rows of like length, in another order each epoch.

    def __init__(self, lengths, batch, seed=0):
        self.batch = batch
        self.seed = seed
        self.epoch = 0
        self.order = sorted(range(len(lengths)), key=lengths.__getitem__)

    def __len__(self):
        return math.ceil(len(self.order) / self.batch)

    def __iter__(self):
        batches = [self.order[at : at + self.batch] for at in range(0, len(self.order), self.batch)]
        random.Random(self.seed + self.epoch).shuffle(batches)
        self.epoch += 1
        return iter(batches)


class Confusion:
    def __init__(self, classes):
        self.classes = classes
        self.counts = [[0] * classes for _ in range(classes)]

    def add(self, predicted, wanted):
        for row, column in zip(wanted, predicted):
            self.counts[row][column] += 1

    def accuracy(self):
        total = sum(map(sum, self.counts))
        return sum(self.counts[n][n] for n in range(self.classes)) / max(1, total)

    def recall(self, number):
        return self.counts[number][number] / max(1, sum(self.counts[number]))

    def precision(self, number):
        column = sum(row[number] for row in self.counts)
        return self.counts[number][number] / max(1, column)


def read_options(path):
    options = Options()
    for line in path.read_text(encoding="utf-8").splitlines():
        name, found, value = line.partition("=")
        name, value = name.strip(), value.strip()
        if not found or name.startswith("#"):
            continue
        if not hasattr(options, name):
            raise SystemExit(f"{path}: no option {name}")
        kind = type(getattr(options, name))
        setattr(options, name, kind(value))
    return options


def table(rows):
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [str(cell).rjust(width) for cell, width in zip(row, widths)]
        lines.append("  ".join(cells))
    return "\\n".join(lines)


def seeded(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
"""
