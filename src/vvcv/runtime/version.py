"""The version of the installed package, for those floors that write it into files."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("vvcv")
except PackageNotFoundError:  # a source tree on the path, not installed
    __version__ = "0"
