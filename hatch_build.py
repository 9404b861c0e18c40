"""Builds what is written in C into the wheel, where there is a compiler; the library does without it otherwise."""

from __future__ import annotations

import importlib.util
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = ("src/vvcv/linear_system/evaluation.c", "src/vvcv/tuning/descent.c")


class NativeCode(BuildHookInterface):
    """Compile each source beside itself; the wheel is then one for this kind of machine, of any Python."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the files of the wheel are gathered."""
        native = _native(Path(self.root))
        for source in SOURCES:
            try:
                built = native.build(Path(self.root) / source)
            except (OSError, subprocess.CalledProcessError) as error:
                why = f"{error} {getattr(error, 'stderr', None) or ''}".strip()
                self.app.display_warning(f"{source} was not built, and NumPy takes its place: {why}")
                continue
            build_data["artifacts"].append(built.relative_to(self.root).as_posix())
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _native(root: Path) -> Any:
    """`vvcv.runtime.native`, without what the rest of the package needs."""
    spec = importlib.util.spec_from_file_location("native", root / "src" / "vvcv" / "runtime" / "native.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
