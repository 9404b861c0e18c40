"""How the page looks, on a desk, on a phone and on paper, and the one script on it: sorting a table by a column."""

from __future__ import annotations

import base64
import hashlib

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 76rem; margin: 2rem auto;
       padding: 0 1rem; overflow-wrap: break-word; }
h1 { margin-bottom: .2rem; } h2 { margin-top: 2.2rem; border-bottom: 2px solid #ddd; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child, .text { text-align: left; }
td.text { white-space: normal; min-width: 6rem; }
td.text:last-child { min-width: 15rem; }
td.long { white-space: normal; min-width: 16rem; overflow-wrap: anywhere; }
th button { all: unset; cursor: pointer; font-weight: bold; }
th button:focus-visible { outline: 2px solid #0b57d0; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
tbody tr:nth-child(even) { background: #f6f6f6; }
.wide { overflow-x: auto; }
.error, .warning { border-left: .3rem solid #c62828; background: #fdecea; padding: .4rem .8rem; margin: .5rem 0; }
.warning { border-color: #ef8f00; background: #fff6e5; }
.note, .ok, .remark, figcaption { color: #555; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
details { margin: .4rem 0; } summary { cursor: pointer; }
@media (max-width: 40rem) { body { margin: 1rem auto; font-size: 15px; } th, td { padding: .2rem .4rem; }
  td.text { white-space: nowrap; } figure.chart { overflow-x: auto; } figure.chart svg { min-width: 34rem; } }
@media print { body { max-width: none; margin: 0; font-size: 10pt; } .wide { overflow: visible; }
  figure, tr, .error, .warning { break-inside: avoid; } h2 { break-after: avoid; }
  th, td { padding: .1rem .35rem; } }
"""

SCRIPT = """
for (const button of document.querySelectorAll("table.sortable th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), body = head.closest("table").tBodies[0];
    const place = [...head.parentNode.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => row.children[place].dataset.value ?? row.children[place].textContent;
    const order = (a, b) => {
      const [p, q] = [key(a), key(b)], numbers = p !== "" && q !== "" && !isNaN(p) && !isNaN(q);
      return (down ? -1 : 1) * (numbers ? p - q : p.localeCompare(q, undefined, {numeric: true}));
    };
    body.append(...[...body.rows].sort(order));
  });
}
"""


def policy() -> str:
    """What the page may do: nothing but run this script and show what it holds itself."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
