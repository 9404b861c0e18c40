"""Means of the logistic posterior by a long run, written to logistic_long_run.json: python long_run.py (a minute)."""

import json

import numpy as np
from blackjax_runs import run
from posteriors import LONG_RUN

CHAINS, DRAWS = 4, 25_000

if __name__ == "__main__":
    beta = np.asarray(run("logistic", CHAINS, DRAWS, warmup=1000).position["beta"])
    batches = beta.reshape(CHAINS * 50, DRAWS // 50, -1).mean(axis=1)  # long enough to be independent
    stored = {
        "draws": CHAINS * DRAWS,
        "mean": [round(float(m), 6) for m in beta.mean(axis=(0, 1))],
        "std_error": [round(float(s), 6) for s in batches.std(axis=0, ddof=1) / np.sqrt(len(batches))],
    }
    LONG_RUN.write_text(json.dumps(stored, indent=1) + "\n")
