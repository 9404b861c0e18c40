"""Run the tutorials and write each as a page: its prose, its code, what the code printed, its pictures.

    python docs/hooks/run_tutorials.py [NAME ...]

A tutorial is a script in docs/tutorials. Its docstring is title and introduction; lines `# %%` part it into cells; the
comment at the head of a cell is prose, in Markdown. Each runs in a process of its own, with warnings as errors.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

SCRIPTS = Path("docs/tutorials")
PAGES = Path("build/tutorials")


def cells(source: str) -> tuple[str, list[tuple[str, str]]]:
    """Introduction, and prose and code of every cell.

    >>> cells('"Title."\\n# %%\\n# Words.\\nx = 1\\n')
    ('Title.', [('Words.', 'x = 1')])
    """
    introduction = ast.get_docstring(ast.parse(source)) or ""
    parts = re.split(r"(?m)^# %%\n", source)[1:]
    return introduction, [_prose_and_code(part) for part in parts]


def run(script: Path) -> float:
    """Run one tutorial, write its page and pictures, and give the seconds of the processor that it took."""
    import matplotlib.pyplot as plt

    from vvcv.experiments.figures import STYLE

    plt.rcParams.update(STYLE)
    started, names = time.process_time(), {"__name__": "__main__"}
    introduction, parts = cells(script.read_text(encoding="utf-8"))
    title, _, rest = introduction.partition("\n")
    page = [f"# {title.rstrip('.')}", rest.strip()]
    for prose, code in parts:
        page += [prose, *_executed(code, names, script, plt)]
    seconds = time.process_time() - started
    page.append(f"*Run when this site was built, in {seconds:.0f} s of one core; the script is `{script}`.*")
    (PAGES / f"{script.stem}.md").write_text("\n\n".join(filter(None, page)) + "\n", encoding="utf-8")
    return seconds


def _prose_and_code(part: str) -> tuple[str, str]:
    lines = part.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "\n".join(line[2:] for line in lines[:end]), "\n".join(lines[end:]).strip()


def _executed(code: str, names: dict[str, Any], script: Path, plt: Any) -> list[str]:
    if not code:
        return []
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)
        exec(compile(code, str(script), "exec"), names)
    shown = [f"```python\n{code}\n```"]
    if printed.getvalue().strip():
        shown.append(f'```text title="prints"\n{printed.getvalue().rstrip()}\n```')
    for number in plt.get_fignums():
        name = f"{script.stem}-{len(list(PAGES.glob(f'{script.stem}-*.svg'))) + 1}.svg"
        plt.figure(number).savefig(PAGES / name, metadata={"Date": None})
        shown.append(f"![Picture made by the code above]({name})")
    plt.close("all")
    return shown


def main(chosen: list[str]) -> None:
    """Run all tutorials, or those named; one process for each core, no more than two."""
    PAGES.mkdir(parents=True, exist_ok=True)
    scripts = [script for script in sorted(SCRIPTS.glob("*.py")) if not chosen or script.stem in chosen]
    for old in PAGES.glob("*.svg"):
        if not chosen or old.stem.rpartition("-")[0] in chosen:
            old.unlink()
    os.environ.setdefault("MPLBACKEND", "Agg")
    workers = min(2, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for script, seconds in zip(scripts, pool.map(run, scripts), strict=True):
            print(f"{script}: {seconds:.0f} s of one core", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
