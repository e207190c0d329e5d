"""Check what ``python -m build`` wrote into dist/: ``python .ci/wheel.py [TAG]``.

The wheel has every file of src/lasec, the compiled library, and nothing else but metadata and
licenses. With a tag, the
version is that of the tag, of CITATION.cff and of the changelog, and the state files of the version
are kept for later ones to load.
"""

from __future__ import annotations

import re
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
LICENSES = {"LICENSE", "src/lasec/streams/data/LICENSES.md"}


def sources() -> set[str]:
    """The files of the package, as their names in a wheel."""
    files = (path for path in (ROOT / "src" / "lasec").rglob("*") if path.is_file())
    return {
        path.relative_to(ROOT / "src").as_posix()
        for path in files
        if not {"__pycache__", "library"} & set(path.parts)
    }


def check_files(wheel: Path, sdist: Path) -> None:
    """Raise an error that names the files that are missing or too many."""
    names = set(ZipFile(wheel).namelist())
    metadata = {name for name in names if ".dist-info/" in name}
    library = {name for name in names if name.startswith("lasec/kernel/library/")}
    if not {Path(name).suffix for name in library} >= {".so", ".json"}:
        raise SystemExit(f"{wheel.name}: its library is {sorted(library)}")
    names -= library
    if names - metadata != sources():
        raise SystemExit(f"{wheel.name}: differs in {sorted((names - metadata) ^ sources())}")
    licenses = {name.split("/licenses/")[1] for name in metadata if "/licenses/" in name}
    if licenses != LICENSES:
        raise SystemExit(f"{wheel.name}: licenses are {sorted(licenses)}")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    missing = {f"src/{name}" for name in sources()} | LICENSES | {"pyproject.toml", "README.md"}
    if missing - packed:
        raise SystemExit(f"{sdist.name}: lacks {sorted(missing - packed)}")


def check_version(version: str, tag: str) -> None:
    """Raise an error that names what the tag does not agree with."""
    said = {
        "the tag": tag.removeprefix("v"),
        "CITATION.cff": _found(r"^version: (\S+)$", "CITATION.cff"),
        "the newest entry of CHANGELOG.md": _found(
            r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", "CHANGELOG.md"
        ),
    }
    wrong = [f"{name}: {value}" for name, value in said.items() if value != version]
    if wrong:
        raise SystemExit(f"the version is {version}, but {'; '.join(wrong)}")


def _found(pattern: str, name: str) -> str:
    match = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else "not found"


def main(tag: str = "") -> None:
    """Check dist/."""
    (wheel,), (sdist,) = ((ROOT / "dist").glob(kind) for kind in ("*.whl", "*.tar.gz"))
    check_files(wheel, sdist)
    if tag:
        check_version(wheel.name.split("-")[1], tag)
    sys.stdout.write(f"{wheel.name}: {wheel.stat().st_size / 1e3:.0f} kB, as it should be\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
