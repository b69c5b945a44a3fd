"""A program in which a quick check, which follows a single way, misses what is found on another."""

_WORK = "".join(f"n{number} = {number} + len(sys.argv)\n" for number in range(200))
HEAD = f"import sys\nimport torch\n\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\n{_WORK}"
TAIL = """\
if len(sys.argv) > 1:
    y.mul_(2)
else:
    print()
y.sum().backward()
"""
LONG = HEAD + TAIL
