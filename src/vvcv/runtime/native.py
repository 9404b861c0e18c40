"""Code in C beside the Python that uses it: built when the library is installed, if there is a compiler.

A built file is named after its source and this kind of machine, so that no other code than the source's is ever run.
This file imports nothing but the standard library: the build of the package reads it before anything is installed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

#: How the compiler is called; no option that changes what comes out.
FLAGS = ("-O3", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")

#: Where sources are.
PACKAGE = Path(__file__).parents[1]


def built_file(source: Path) -> Path:
    """Where the library built from a source lies, or would.

    >>> built_file(PACKAGE / "linear_system" / "evaluation.c").name.startswith("evaluation-")
    True
    """
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    return source.with_name(f"{source.stem}-{digest}-{sys.platform}-{platform.machine()}.so")


def build(source: Path) -> Path:
    """Build a source, unless that was done; an OSError or CalledProcessError says why it cannot be."""
    target = built_file(source)
    if not target.exists():
        made = target.with_suffix(f".{os.getpid()}.so")
        try:
            command = [*_compiler(), *FLAGS, "-o", str(made), str(source), "-lm"]
            subprocess.run(command, check=True, capture_output=True, text=True)
            ctypes.CDLL(str(made))  # what does not load was not built
            made.replace(target)  # at once: another may be loading it
            _remove_others(target)
        finally:
            made.unlink(missing_ok=True)
    return target


def _compiler() -> list[str]:
    """What `CC` names, or the compiler that Python was built with if it is here, or the machine's own."""
    given = os.environ.get("CC", "")
    named = [given] if shutil.which(given) else shlex.split(given)  # a path may have spaces
    pythons = (sysconfig.get_config_var("CC") or "").split()
    return named or (pythons if pythons and shutil.which(pythons[0]) else ["cc"])


def _remove_others(target: Path) -> None:
    """What was built of earlier versions of a source; who has it loaded keeps it."""
    stem, _, machine = target.name.split("-", 2)
    for other in target.parent.glob(f"{stem}-*-{machine}"):
        if other != target:
            other.unlink(missing_ok=True)


@cache
def library(source: Path) -> ctypes.CDLL | None:
    """The library built from a source; None where there is none, or none that runs here."""
    try:
        return ctypes.CDLL(str(built_file(source)))
    except OSError:
        return None
