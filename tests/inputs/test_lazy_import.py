"""`import vvcv` stays light: inputs and simulators are there when they are asked for, not before."""

import subprocess
import sys

SCRIPT = """
import sys, vvcv
early = [name for name in ("vvcv.inputs", "vvcv.simulators", "scipy.stats", "pandas") if name in sys.modules]
assert not early, early
assert callable(vvcv.simulators.run_models) and callable(vvcv.paper.BlockCoordinateDescent)  # as the pages write them
assert vvcv.interop.Posterior and vvcv.thermodynamic.evidence
assert vvcv.inputs.normal(0, 1) and callable(vvcv.multifidelity)
from vvcv.inputs import gamma
"""


def test_importing_vvcv_imports_neither_inputs_nor_simulators():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)
