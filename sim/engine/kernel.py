"""`@kernel` and `@part`: functions that only kernels call, typed and lowered one by one, machine code in their callers.

Numba optimises every function together with all that it calls and makes machine code of it, although nobody but the
outermost ones, `@njit(**ENTRY)`, is ever called from Python: with hundreds of small kernels a third of the compile
time. It also compiles a function anew for every constant that somebody hands it. Here an inner kernel stays LLVM code
for the types of its arguments; the outermost one links each once, is optimised as a whole, and is what the cache keeps.
Built on Numba's extension point for compilers ("Customizing the Compiler" in its manual).
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

from sim.engine.jit import OPTIONS

F = TypeVar("F", bound=Callable[..., Any])


class _Library(JITCodeLibrary):
    """The code of one kernel, for linking into others only."""

    def finalize(self) -> None:
        """Nothing is optimised or generated: that is for whoever links it."""
        self._finalized = True

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Lowering whose result callers can link, together with all that it calls."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Leaves what callers need in `state.cr`."""
        library = state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state.cr
        linked = list(dict.fromkeys([library, *library._linking_libraries]))
        state.targetctx.insert_user_function(lowered.fndesc, lowered.fndesc, linked)
        state.cr = lowered._replace(cfunc=lowered.fndesc)
        return True


# Kernels have no closures and no arithmetic on whole arrays.
UNUSED = (InlineClosureLikes, InlineOverloads, NopythonRewrites)


class _Compiler(CompilerBase):
    """Numba's passes but for those unused, with this lowering in place of its own."""

    def define_pipelines(self) -> list[PassManager]:
        """One pipeline: there is no object mode to fall back to."""
        pipeline = PassManager("kernel")
        for each, why in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if each not in UNUSED:
                pipeline.add_pass(_Lowering if each is NativeLowering else each, why)
        pipeline.finalize()
        return [pipeline]


class _Dispatcher(CPUDispatcher):
    """Compiles for types, not for constants or every width of an integer."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What a call with arguments of these types calls."""
        return super().get_call_template([_widened(each) for each in args], {k: _widened(v) for k, v in kws.items()})

    def add_overload(self, compiled: Any) -> None:
        """Found by callers that are kernels, not by calls from Python."""
        self.overloads[tuple(compiled.signature.args)] = compiled

    def _compile_for_args(self, *args: Any, **kws: Any) -> None:
        raise TypeError(f"only kernels call {self.py_func.__name__}; as plain Python it is its py_func")


def _widened(given: Any) -> Any:
    """What to compile for: no constants, and one width of integers."""
    plain = types.unliteral(given)
    return types.int64 if plain in types.signed_domain else plain


def kernel(function: F) -> F:
    """The function compiled as part of the kernels that call it: large, and called from several places or seldom."""
    return _compiled(function, forceinline=False)


def part(function: F) -> F:
    """Likewise, and always written into its callers: small, or called from one place, so that it costs no call.

    What an iteration does over and over is worth it; written into several places, large functions cost compile time.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: F, *, forceinline: bool) -> F:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    options = {
        **OPTIONS,
        "nopython": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "forceinline": forceinline,  # said of each, as callees would inherit it
    }
    return cast(F, _Dispatcher(function, targetoptions=options, pipeline_class=_Compiler))
