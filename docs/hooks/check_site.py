"""Check a built site: every public name is documented, no link is dead, nothing is fetched from elsewhere.

python docs/hooks/check_site.py build/site
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Modules whose `__all__` must be in the reference. Names that a module shares with `vvcv` are documented there.
PARTS = ("kernels", "paper", "inputs", "simulators", "thermodynamic", "stein", "checks", "files")
PUBLIC = ("vvcv", *(f"vvcv.{part}" for part in PARTS))

#: Attributes by which a page makes the browser fetch something; links that a reader may click are `href` of <a>.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    """The anchors of a page, its links, and what it fetches."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(filter(None, (given.get("id"), given.get("name"))))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if given.get(FETCHED.get(tag, "")) and given.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(given[FETCHED[tag]])


def undocumented(pages: dict[Path, Page]) -> Iterator[str]:
    """Public names without an entry in the reference."""
    anchors = set().union(*(page.anchors for page in pages.values()))
    for module in PUBLIC:
        for name in import_module(module).__all__:
            shared = module != "vvcv" and name in import_module("vvcv").__all__
            is_module = f"{module}.{name}" in PUBLIC
            if f"{'vvcv' if shared else module}.{name}" not in anchors and not is_module:
                yield f"{module}.{name} is not in the reference: add `::: {module}.{name}` to a page of docs/api."


def dead_links(pages: dict[Path, Page], root: Path) -> Iterator[str]:
    """Links within the site that lead nowhere: no such file, or no such place on the page."""
    for path, page in pages.items():
        for link in (*page.links, *page.fetched):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data", "javascript"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or not target.is_relative_to(root):
                yield f"{path.relative_to(root)}: {link} leads nowhere."
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(root)}: {link} names no place on that page."


def fetched_elsewhere(pages: dict[Path, Page], root: Path) -> Iterator[str]:
    """What a page would fetch from another machine."""
    for path, page in pages.items():
        for link in page.fetched:
            if urlsplit(link).netloc:
                yield f"{path.relative_to(root)} fetches {link}: the site must work without a network."


def main(site: Path) -> None:
    """Print what is wrong and fail, or say how much was checked."""
    root = site.resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html")) if path.name != "404.html"}
    faults = [*undocumented(pages), *dead_links(pages, root), *fetched_elsewhere(pages, root)]
    if faults or not pages:
        sys.exit("\n".join(faults) or f"{site} has no pages: run make docs.")
    links = sum(len(page.links) for page in pages.values())
    print(f"{len(pages)} pages, {links} links, every public name documented, nothing fetched from elsewhere")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
