"""How fast lasec is, against bare products, the paper's pseudocode and its peers.

One thread, for everything that is measured: the variables must be set before NumPy is imported.
"""

import os

for _name in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
