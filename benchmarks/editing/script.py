"""A training script of 500 lines as people write them: data, layers, a model, losses, a loop, evaluation."""

from __future__ import annotations

from editing.helpers import HELPERS

_HEAD = '''\
"""Trains a sequence model on generated data."""

import argparse
import csv
import json
import math
import random
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Options:
    layers: int = 4
    width: int = 64
    heads: int = 4
    dropout: float = 0.1
    rate: float = 3e-4
    epochs: int = 10
    batch: int = 16
    clip: float = 1.0
    accumulate: int = 2
    folder: Path = Path("runs")


class Sequences(Dataset):
    def __init__(self, count, length, vocabulary, seed=0):
        generator = torch.Generator().manual_seed(seed)
        self.rows = torch.randint(vocabulary, (count, length + 1), generator=generator)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        return row[:-1], row[1:]


class Positions(nn.Module):
    def __init__(self, width, longest=512):
        super().__init__()
        position = torch.arange(longest).unsqueeze(1)
        scale = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2] = torch.sin(position * scale)
        table[:, 1::2] = torch.cos(position * scale)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None

'''
_BLOCK = """

class Block{n}(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.heads = options.heads
        self.before = nn.LayerNorm(options.width)
        self.after = nn.LayerNorm(options.width)
        self.mixed = nn.Linear(options.width, 3 * options.width)
        self.out = nn.Linear(options.width, options.width)
        self.wide = nn.Linear(options.width, 4 * options.width)
        self.narrow = nn.Linear(4 * options.width, options.width)
        self.dropout = nn.Dropout(options.dropout)

    def attend(self, x, mask=None):
        batch, length, width = x.shape
        q, k, v = self.mixed(x).chunk(3, dim=-1)
        q = q.view(batch, length, self.heads, -1).transpose(1, 2)
        k = k.view(batch, length, self.heads, -1).transpose(1, 2)
        v = v.view(batch, length, self.heads, -1).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        weights = scores.softmax(-1)
        mixed = self.dropout(weights) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, mask=None):
        x = x + self.attend(self.before(x), mask)
        hidden = F.gelu(self.wide(self.after(x)))
        return x + self.dropout(self.narrow(hidden))
"""
_MODEL = """

class Model(nn.Module):
    def __init__(self, options, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, options.width)
        self.positions = Positions(options.width)
        self.blocks = nn.ModuleList([{blocks}])
        self.norm = nn.LayerNorm(options.width)
        self.head = nn.Linear(options.width, vocabulary)

    def forward(self, tokens):
        length = tokens.size(1)
        mask = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        x = self.positions(self.tokens(tokens))
        for block in self.blocks:
            x = block(x, mask)
        return self.head(Scale.apply(self.norm(x), 1.0))
"""
_LOSS = """

def loss{n}(logits, target, smoothing=0.1):
    flat = logits.reshape(-1, logits.size(-1))
    wanted = target.reshape(-1)
    value = F.cross_entropy(flat, wanted, label_smoothing=smoothing)
    spread = torch.logsumexp(flat, dim=-1)
    penalty = 1e-4 * (spread**2).mean()
    entropy = -(flat.softmax(-1) * flat.log_softmax(-1)).sum(-1).mean()
    if smoothing > {n}:
        penalty = penalty + 0.01 * entropy
    return value + penalty
"""
_TAIL = """

class Meter:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, value, count=1):
        self.total += value * count
        self.count += count

    @property
    def mean(self):
        return self.total / max(1, self.count)


def schedule(optimizer, warm, total):
    def factor(step):
        if step < warm:
            return step / max(1, warm)
        done = (step - warm) / max(1, total - warm)
        return 0.5 * (1 + math.cos(math.pi * done))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    meter, right, seen = Meter(), 0, 0
    for tokens, target in loader:
        tokens, target = tokens.to(device), target.to(device)
        logits = model(tokens)
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        meter.add(loss.item(), len(tokens))
        right += (logits.argmax(-1) == target).sum().item()
        seen += target.numel()
    model.train()
    return meter.mean, right / max(1, seen)


def train(options, model, loader, validation, device):
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate)
    scheduler = schedule(optimizer, 100, options.epochs * len(loader))
    average, log = Average(model), Log(options.folder)
    best = float("inf")
    for epoch in range(options.epochs):
        meter = Meter()
        for number, (tokens, target) in enumerate(loader):
            tokens, target = tokens.to(device), target.to(device)
            logits = model(tokens)
            loss = loss0(logits, target) / options.accumulate
            loss.backward()
            meter.add(loss.item() * options.accumulate, len(tokens))
            if (number + 1) % options.accumulate == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
                average.update(model)
        value, accuracy = evaluate(model, validation, device)
        print(f"epoch {epoch}: train {meter.mean:.4f}, validation {value:.4f}, accuracy {accuracy:.3f}")
        log.write(epoch=epoch, train=meter.mean, validation=value, perplexity=perplexity(value))
        if value < best:
            best = value
            save(options.folder, epoch, model, optimizer, scheduler)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=3e-4)
    given = parser.parse_args()
    options = Options(epochs=given.epochs, batch=given.batch, rate=given.rate)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    seeded(0)
    rows = Sequences(4096, 64, 256)
    held = Sequences(512, 64, 256, seed=1)
    model = Model(options, 256).to(device)
    loader = DataLoader(rows, batch_size=options.batch, shuffle=True)
    validation = DataLoader(held, batch_size=options.batch)
    train(options, model, loader, validation, device)


if __name__ == "__main__":
    main()
"""


def script() -> str:
    """The script."""
    blocks = ("0", "1")
    made = ", ".join(f"Block{n}(options)" for n in blocks)
    parts = [
        _HEAD.rstrip() + "\n",
        *(_BLOCK.replace("{n}", n) for n in blocks),
        _MODEL.replace("{blocks}", made),
        _LOSS.replace("{n}", "0"),
        HELPERS,
        _TAIL,
    ]
    return "".join(parts)
