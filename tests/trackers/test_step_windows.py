"""Lists of the results of a batch's parts, and lists that grow from step to step."""

from __future__ import annotations

from tests.open_programs import HEAD, check_quiet, told

PARTS = """
def train(model, optimizer, criterion, loader, parts):
    for data, targets in loader:
        optimizer.zero_grad()
        outputs, losses = [], []
        for x, y in zip(data.chunk(parts), targets.chunk(parts)):
            out = model(x)
            outputs.append(out)
            loss = criterion(out, y)
            losses.append(loss)
            loss.backward()
        optimizer.step()
        print(torch.cat(outputs).argmax(1), sum(losses).item())
"""
LISTS, STEP = "        outputs, losses = [], []\n", "        optimizer.step()\n"


def test_what_is_collected_for_one_step_is_gone_with_it() -> None:
    check_quiet(PARTS)


def test_what_is_collected_over_several_steps_piles_up() -> None:
    loop = "    for data, targets in loader:\n"
    program = PARTS.replace(LISTS, "").replace(loop, LISTS.replace(" ", "", 4) + loop)
    assert [finding.code for finding in told(HEAD + program)] == ["GL602", "GL602"]


def test_a_step_for_each_part_leaves_its_results_in_the_list() -> None:
    done = "            loss.backward()\n"
    program = PARTS.replace(STEP, "").replace(
        done, done + "    " + STEP + "            optimizer.zero_grad()\n"
    )
    assert [finding.code for finding in told(HEAD + program)] == ["GL602", "GL602"]


def test_without_a_step_the_results_pile_up() -> None:
    program = PARTS.replace(STEP, "").replace("        optimizer.zero_grad()\n", "")
    assert [finding.code for finding in told(HEAD + program)] == ["GL602", "GL602"]
