"""Build lasec's library: every form as object code, linked into one file for each processor level.

``python -m lasec.kernel.jit.build [FOLDER]``, or ``make build``. Functions are compiled once and
kept by the digest of their sources, so that a change costs the time of what it changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

IS_X86 = platform.machine().lower() in {"x86_64", "amd64"}
LEVELS = ("x86-64-v3", "x86-64-v2") if IS_X86 else ("generic",)
# numba reads these when it is imported, also in the processes that this one starts.
os.environ["NUMBA_CPU_NAME"] = LEVELS[0]
os.environ["NUMBA_CPU_FEATURES"] = ""

import numba  # noqa: E402

from lasec.kernel.jit.emit import bitcode, object_code  # noqa: E402
from lasec.kernel.jit.folder import folder  # noqa: E402
from lasec.kernel.jit.forms import Form, forms  # noqa: E402
from lasec.kernel.library import FOLDER  # noqa: E402
from lasec.kernel.sources import ABI, shared  # noqa: E402

# Sums of products in any order, as the same on every machine of a level.
FAST = ["-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-ffp-contract=off"]


def build(into: Path = FOLDER) -> list[Path]:
    """Compile what is not kept, and link; the libraries."""
    begin = time.monotonic()
    kept = Path(folder() or tempfile.mkdtemp())
    wanted = list(forms())
    missing = [form.name for form in wanted if not _object(kept, form.name, LEVELS[-1]).is_file()]
    say(f"lasec: compiling {len(missing)} of {len(wanted)} functions, some minutes")
    if missing:
        context = get_context("spawn")
        with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
            for title, seconds in pool.map(_compile, [str(kept)] * len(missing), missing):
                say(f"{seconds:7.1f} s  {title}")
    into.mkdir(exist_ok=True)
    made = [linked(level, wanted, kept, into) for level in LEVELS]
    say(f"lasec: {made[0]} in {time.monotonic() - begin:.0f} s")
    return made


_forms: dict[str, Form] = {}


def _compile(kept: str, name: str) -> tuple[str, float]:
    """Compile one function, in a process of its own; what it is, and the CPU time."""
    if not _forms:
        _forms.update({form.name: form for form in forms()})
    begin, form = time.process_time(), _forms[name]
    module = bitcode(name, form.function, form.signature)
    for level in LEVELS:
        path = _object(Path(kept), name, level)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_bytes(object_code(module, level).data)
        draft.replace(path)
    return form.title, time.process_time() - begin


def _object(kept: Path, name: str, level: str) -> Path:
    return kept / f"{name}-{numba.__version__}-{level}.o"


def linked(level: str, wanted: list[Form], kept: Path, into: Path) -> Path:
    """The library of a level, and its manifest beside it."""
    ending = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
    out = into / f"lasec-{level}.{ending}"
    objects = [str(_object(kept, form.name, level)) for form in wanted]
    runtime = str(Path(__file__).with_name("runtime.c"))
    subprocess.run(_command(level, [*objects, runtime], out), check=True)  # noqa: S603
    manifest = {
        "abi": ABI, "level": level, "file": out.name, "sources": shared().hex(),
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
        "names": {form.name: form.title for form in wanted},
    }  # fmt: skip
    (into / f"{level}.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return out


def _command(level: str, inputs: list[str], out: Path) -> list[str]:
    """How to link: with the compiler of the machine, else with that of the package ziglang."""
    found = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    compiler = found.split() if found else [sys.executable, "-m", "ziglang", "cc"]
    machine = [] if level == "generic" else [f"-march={level}"]
    strict = ["-Wl,-z,defs", "-s"] if sys.platform.startswith("linux") else []
    return [*compiler, *FAST, *machine, "-shared", "-fPIC", *strict, "-o", str(out), *inputs, "-lm"]


def say(words: str) -> None:
    """Say how far the build is."""
    print(words, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    build(*map(Path, sys.argv[1:2]))
