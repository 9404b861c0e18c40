"""`python -m vvcv.experiments NAME ...` is `vvcv reproduce NAME ...`."""

import typer

from ..reproduce_command import reproduce_command

if __name__ == "__main__":
    typer.run(reproduce_command)
