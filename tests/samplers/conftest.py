"""PyTensor by JAX: compiling C takes longer than all these tests together, and needs a compiler."""

import os

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=,mode=JAX")

collect_ignore_glob = ["*_run*.py"]  # they import samplers that may be missing, and hold no doctests
