"""Tokens and characters that come into mutated files."""

from __future__ import annotations

OPERATORS = (
    "+", "-", "*", "/", "//", "%", "@", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", ">", "<=",
    ">=", "=", "+=", "-=", "*=", "/=", "@=", ":=", "->", ".", ",", ":", ";", "~", "(", ")", "[",
    "]", "{", "}",
)  # fmt: skip
NUMBERS = (
    "0", "1", "-1", "2", "7", "1_000", "1000000", "10**30", "2**63", "-2**63", "2**64", "0.0",
    "-0.0", "1e-320", "1e309", "-1e309", "1j", "0x7fffffff", "0b1", "True", "None", "()",
)  # fmt: skip
KEYWORDS = (
    "if", "else", "for", "while", "def", "class", "return", "yield", "lambda", "try", "except",
    "finally", "with", "as", "import", "from", "global", "nonlocal", "del", "pass", "break",
    "continue", "raise", "assert", "async", "await", "not", "and", "or", "in", "is", "match",
    "case", "type", "print", "exec", "self", "super", "torch", "None",
)  # fmt: skip
# Methods and attributes that rules have to do with.
CALLS = (
    "backward", "step", "zero_grad", "detach", "item", "requires_grad_", "view", "expand", "add_",
    "mul_", "relu_", "copy_", "sum", "mean", "apply", "forward", "retain_grad", "clone", "T",
    "data", "grad", "to", "cuda", "split", "unbind", "chunk", "append", "pop", "extend", "update",
    "items", "register_hook",
)  # fmt: skip
ODD = (
    "\0", "\f", "\v", "\x1c", "\x85", "\u2028", "\u202e", "\u200b", "\ufeff", "\ud800", "\U0001f525", "\xa0",
    "e\u0301", "\ufb01", "\xaa", "\u2460", "\x1b[31m", "\u0130", "\u3000", "\r", "\t",
)  # fmt: skip
