"""A disk that is full now and then."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from pathlib import Path


class Disk:
    """A small disk of its own (tmpfs), which can be filled up and freed.

    Where mounts are not allowed it is a plain folder; then files of the server alone can be kept
    from growing.
    """

    SIZE = "1g"

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "disk"
        self.folder.mkdir()
        self._ballast = self.folder / "ballast"
        call = ["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", str(self.folder)]
        done = subprocess.run(call, check=False, capture_output=True)
        self.mounted = done.returncode == 0

    def fill(self, process: int) -> None:
        """Leave no room on it, or none for the files of this process."""
        if not self.mounted:
            most = resource.prlimit(process, resource.RLIMIT_FSIZE)[1]
            resource.prlimit(process, resource.RLIMIT_FSIZE, (4_096, most))
            return
        with self._ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            found = os.statvfs(self.folder)
            os.posix_fallocate(file.fileno(), 0, max(found.f_bavail * found.f_bsize, 1))
            file.seek(0, os.SEEK_END)
            while True:
                file.write(bytes(4_096))

    def free(self) -> None:
        """Take the ballast away; a process that was limited has to be ended."""
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Give the memory back."""
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=False)
