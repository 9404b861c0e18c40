"""Files -> Tasks and back: tables (CSV, Parquet, CmdStan's CSV) and arrays (npz, netCDF, zarr, ArviZ's files).

A **table** has one row per point: columns `x[0]`, `x[1]`, ... (or `x`), `score[0]`, ... (or `score`), optionally
`chain` and `draw` (without both, rows are independent), and one column of values for each task, under its name. Tasks
with points of their own are written below each other, with a column `task` for the name and one column `value`.
CmdStan's diagnostic files (written with `save_latent_dynamics`), each of one chain, have columns `z`, `p_z` and `g_z`
for each unconstrained parameter z; `g_z` is minus the score.

**Arrays** are `points` and `scores`, `(n, d)` or `(chain, draw, d)`, and `values` with a last axis for tasks, named by
an array `names` or by the coordinate of that axis; tasks with points of their own have a group of arrays each. ArviZ's
files have `sample_stats/unconstrained_draw`, `sample_stats/gradient` and a group `posterior`, whose elements are the
tasks.

Where a file has no values, the tasks are the means of the coordinates. Files are not trusted: nothing in them is ever
run (no pickle), their content is measured before it is read, and what is wrong with them is said in one sentence.
"""

from .formats import FORMATS, MOST_BYTES, read_tasks, write_tasks

__all__ = ["FORMATS", "MOST_BYTES", "read_tasks", "write_tasks"]
