"""Optional packages, imported when first needed; the error names the extra to install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

#: package -> the name its authors give it, and the extra that installs it
EXTRAS = {
    "arviz": ("ArviZ", "arviz"),
    "blackjax": ("BlackJAX", "blackjax"),
    "bridgestan": ("BridgeStan", "stan"),
    "numpyro": ("NumPyro", "numpyro"),
    "nutpie": ("nutpie", "nutpie"),
    "pymc": ("PyMC", "pymc"),
    "stan": ("PyStan", "stan"),
}


def needs(package: str, who: str, module: str | None = None) -> ModuleType:
    """Import `module` of an optional package (the package itself by default) for the function named `who`.

    >>> import vvcv.interop.extras as extras
    >>> extras.EXTRAS["no_such"] = ("NoSuch", "nosuch")
    >>> needs("no_such", "from_nosuch")
    Traceback (most recent call last):
    ImportError: from_nosuch needs NoSuch: pip install "vvcv[nosuch]"
    >>> del extras.EXTRAS["no_such"]
    """
    name, extra = EXTRAS[package]
    try:
        found = import_module(package)
    except ImportError as error:
        raise ImportError(f'{who} needs {name}: pip install "vvcv[{extra}]"') from error
    return found if module is None else import_module(module)
