"""A hook of MkDocs: adds the pages that `run_tutorials.py` has made, and fails where one is missing or too old.

Pages link to a tutorial's script, which is there for who reads them as files; on the site the link is to its page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

SCRIPTS = Path("docs/tutorials")
PAGES = Path("build/tutorials")


def on_files(files: Files, config: Any) -> Files:
    """Every script has a page that is younger than itself."""
    for script in sorted(SCRIPTS.glob("*.py")):
        page = PAGES / f"{script.stem}.md"
        if not page.exists() or page.stat().st_mtime < script.stat().st_mtime:
            raise PluginError(f"{script} has not been run: python docs/hooks/run_tutorials.py")
    for made in sorted(PAGES.glob("*.*")):
        files.append(File.generated(config, f"tutorials/{made.name}", abs_src_path=str(made.resolve())))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to scripts as links to what they made."""
    return re.sub(r"\]\((tutorials/\w+)\.py\)", r"](\1.md)", markdown)
