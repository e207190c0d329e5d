"""Functions within a compiled loop are optimized and translated with it, and not before."""

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from lasec.kernel import chunk, lean
from lasec.kernel.cache import Entry

# Types that no other test has, and a part that is not lasec's: then nothing is cached.
FEW, OTHER = np.array([3], np.uint16), (0,)


def codegen():
    return cpu_target.target_context.codegen()


@pytest.fixture
def compiled(monkeypatch):
    """The names of what was compiled, and whether it got machine code of its own."""
    found = {}
    finalize = lean.Library._finalize_final_module

    def noted(self):
        finalize(self)
        symbols = [function.name for function in self._final_module.functions]
        known = codegen()._engine.is_symbol_defined
        found[self.name] = any(known(symbol) for symbol in symbols)

    monkeypatch.setattr(lean.Library, "_finalize_final_module", noted)
    return found


def test_only_the_outermost_function_and_foreign_ones_get_machine_code(compiled):
    @numba.njit
    def foreign(value):
        return 2.0 * value

    def doubled(values):
        return foreign(chunk.entry(values, 0, 1.0))

    assert Entry(doubled)(OTHER, FEW) == 6.0
    assert compiled["entry"] is False
    assert all(own for name, own in compiled.items() if name != "entry")
    assert any(name.endswith("doubled") for name in compiled)
    assert codegen()._library_class is JITCodeLibrary


def test_other_code_is_compiled_as_ever_and_may_call_the_same_functions(compiled):
    Entry(lambda values: chunk.entry(values, 0, 1.0))(OTHER, FEW.astype(np.int16))
    assert "entry" in compiled
    compiled.clear()

    @numba.njit
    def other(values):
        return chunk.entry(values, 0, 1.0)

    assert other(FEW.astype(np.int16)) == 3.0
    assert compiled == {}


def test_where_numba_is_not_as_expected_it_does_it_all(compiled, monkeypatch):
    monkeypatch.setattr(lean, "_NEEDED", ("no such method",))
    few = FEW.astype(np.uint8)
    assert Entry(lambda values: chunk.entry(values, 0, 1.0))(OTHER, few) == 3.0
    assert compiled == {}


def test_what_fails_to_compile_leaves_nothing_behind():
    with pytest.raises(numba.TypingError):
        Entry(lambda values: chunk.entry(values, "no place", 1.0))(OTHER, FEW)
    assert codegen()._library_class is JITCodeLibrary
