"""Compiles lasec's library for the wheel; an editable install has none but that of ``make build``.

Where there is neither a C compiler nor the package ziglang, the wheel is one without a library.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "src/lasec/kernel/library"


class Library(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls before it puts a wheel together."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library and say for which machines the wheel is."""
        if self.target_name != "wheel" or version == "editable":
            return
        self.app.display_info("lasec: compiling its library, some minutes")
        source = str(Path(self.root) / "src")
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "lasec.kernel.jit.build", str(Path(self.root) / LIBRARY)],
            check=False,
            env=os.environ | {"PYTHONPATH": source},
        )
        if done.returncode:
            self.app.display_warning("lasec: no library, because it could not be built")
            return
        machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ.get('LASEC_PLATFORM', machine)}"
        build_data["artifacts"].append(f"{LIBRARY}/*")
