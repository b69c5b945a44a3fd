"""What the model knows about library functions is found by qualified name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import NONE, Const, LibraryObject
from gradcheck_tool.interp import registry

if TYPE_CHECKING:
    import pytest


def test_a_function_is_found_under_each_of_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FUNCTIONS", {})

    @registry.function("lib.f", "lib.g")
    def native(m, s, call):
        return NONE

    assert registry.find("lib.f") is registry.find("lib.g") is native


def test_finders_are_asked_for_what_is_not_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FUNCTIONS", {})
    monkeypatch.setattr(registry, "FINDERS", [])

    def native(m, s, call):
        return NONE

    registry.finder(lambda name: native if name.startswith("lib.") else None)
    assert registry.find("lib.anything") is native
    assert registry.find("other.f") is None
    registry.function("lib.own")(other := lambda m, s, call: NONE)
    assert registry.find("lib.own") is other


def test_names_and_constants_of_other_values_have_defaults() -> None:
    assert (registry.lib_name(LibraryObject("torch.ones")), registry.lib_name(None)) == ("torch.ones", "")
    assert (registry.const(Const(3)), registry.const(NONE, 1), registry.const(None, 1)) == (3, None, 1)
