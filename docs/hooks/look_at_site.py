"""Open a built site in headless Chromium, wide and on a phone: screenshots, console errors, requests to outside.

    python docs/hooks/look_at_site.py build/site build/screenshots [PAGE ...]

The pages are served with a policy that allows nothing but the site itself, and the browser can find no other machine: a
request to outside is a console error. A phone's width is that of a frame, since Chromium's own window does not get so
narrow.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--virtual-time-budget=8000",
]
RESOLVER = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
POLICY = "default-src 'self' 'unsafe-inline' data: blob:"
SIZES = {"desktop": (1280, 1600), "phone": (390, 1600)}
FRAME = '<!doctype html><body style="margin:0"><iframe src="{}" width="390" height="1600" style="border:0"></iframe>'


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site, and at /phone?PAGE that page in a frame as wide as a phone."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if address.path != "/phone":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(FRAME.format(address.query).encode())
        return None

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


def look(address: str, size: tuple[int, int], picture: Path) -> list[str]:
    """Open a page, save a screenshot, and give what the console said."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [*FLAGS, RESOLVER, f"--user-data-dir={folder}", f"--screenshot={picture}"]
        command = ["chromium", *flags, f"--window-size={max(size[0], 500)},{size[1]}", address]
        said = subprocess.run(command, capture_output=True, text=True, timeout=120).stderr
    if not picture.exists():
        return [f"no screenshot: {said[-300:]}"]
    return re.findall(r"CONSOLE.*", said)


def main(site: Path, pictures: Path, chosen: list[str]) -> None:
    """All pages, or those named, at both widths."""
    pictures.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    pages = chosen or [str(page.relative_to(site)) for page in sorted(site.rglob("*.html")) if page.name != "404.html"]
    faults = []
    for page in pages:
        for name, size in SIZES.items():
            address = f"{root}/{page}" if name == "desktop" else f"{root}/phone?/{page}"
            picture = pictures / f"{page.removesuffix('.html').replace('/', '-')}-{name}.png"
            faults += [f"{page} ({name}): {fault}" for fault in look(address, size, picture)]
    server.shutdown()
    print(f"{len(pages)} pages opened at {len(SIZES)} widths, screenshots in {pictures}")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
