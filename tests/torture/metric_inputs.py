"""Call every public function of arrays with arrays that were spoilt.

`python tests/torture/metric_inputs.py [CASES] [SEED]` prints how many cases ended how. A call
gives finite numbers (nan where its docstring says so), or is refused in one line. Warnings and
other exceptions are failures; so is a score that does not care for scale and moves with it.
"""

import math
import random
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas
import polars
import torch

sys.path.append(str(Path(__file__).parents[1]))

from array_calls import CALLS, MAY_BE_INFINITE, MAY_BE_NAN, at_scale, attempt, numbers


def scaled(a, rng):
    return a * 10.0 ** rng.uniform(-310, 305)


def moved(a, rng):
    return a + 10.0 ** rng.uniform(-20, 200)


def column_scaled(a, rng):
    a = a.astype(float)
    a[..., rng.randrange(a.shape[-1])] *= 10.0 ** rng.uniform(-310, 305)
    return a


def constant_column(a, rng):
    a = a.copy()
    a[..., rng.randrange(a.shape[-1])] = a.flat[0]
    return a


def all_zero(a, rng):
    return a * 0


def one_outlier(a, rng):
    a = a.astype(float)
    a.flat[rng.randrange(a.size)] = rng.choice((1e30, -1e9, 1e59, 1e-59, 5e-324, 1e308))
    return a


def not_a_number(a, rng):
    a = a.astype(float)
    a.flat[rng.randrange(a.size)] = rng.choice((math.nan, math.inf, -math.inf))
    return a


def fewer_rows(a, rng):
    return a[: rng.randrange(len(a) + 1)]


def more_columns(a, rng):
    return np.concatenate([a, a], axis=-1)


def transposed(a, rng):
    return a.T


def equal_rows(a, rng):
    return np.broadcast_to(a[:1], a.shape)


def rounded(a, rng):
    return a.astype(rng.choice(("int8", "uint8", "int64", "bool", "float16", "uint64")))


def as_tensor(a, rng):
    kinds = (
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.int16,
        torch.bool,
        torch.complex64,
    )
    return torch.from_numpy(np.array(a)).to(rng.choice(kinds))


def as_frame(a, rng):
    return rng.choice((pandas, polars)).DataFrame(a) if a.ndim == 2 else a.tolist()


def as_objects(a, rng):
    kind = rng.choice((object, str, complex, "datetime64[s]"))
    return a.astype("int64").astype(kind) if kind == "datetime64[s]" else a.astype(kind)


def nonsense(a, rng):
    return rng.choice(
        (None, 3, "abc", {}, [], [[]], [[1], [2, 3]], object(), torch.tensor(1.0), b"x")
    )


CHANGES = (
    scaled,
    moved,
    column_scaled,
    constant_column,
    all_zero,
    one_outlier,
    not_a_number,
    fewer_rows,
    more_columns,
    transposed,
    equal_rows,
    rounded,
    as_tensor,
    as_frame,
    as_objects,
    nonsense,
)


def case(rng):
    """One call with one array spoilt; how it ends, and what was done."""
    call = rng.choice(CALLS)
    name = rng.choice(list(call.arrays))
    change = rng.choice(CHANGES)
    what = f"{call.name}, {name}, {change.__name__}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Jacobians by central differences")
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")  # torch itself
        try:
            if change is scaled:
                exponent = rng.uniform(-310, 305)
                right = at_scale(call, name, 10.0**exponent)
                return ("right" if right else "refused"), f"{what} by 1e{exponent:.0f}"
            given = call.arrays[name]
            if isinstance(given, list):
                bad = [change(np.asarray(given[0]), rng), *given[1:]]
            else:
                bad = change(np.asarray(given), rng)
            result, told = attempt(call, name, bad)
        except Exception as error:
            return f"FAILED: {type(error).__name__}: {str(error)[:200]}", what
    if told:
        return "refused", what
    for each in numbers(result):
        wrong = np.isinf(each) & (call.name not in MAY_BE_INFINITE)
        wrong |= np.isnan(each) & (call.name not in MAY_BE_NAN)
        if wrong.any():
            return f"FAILED: {each}", what
    return "right", what


def torture(cases, seed=0):
    """Count how the cases end, and list the failures."""
    counts, failures = Counter(), []
    for number in range(cases):
        end, what = case(random.Random(f"{seed} {number}"))
        counts[end.partition(":")[0]] += 1
        if end.startswith("FAILED"):
            failures.append(f"seed {seed}, case {number}, {what}: {end}")
    return counts, failures


if __name__ == "__main__":
    cases, seed = (int(sys.argv[k]) if sys.argv[k:] else d for k, d in ((1, 4000), (2, 0)))
    counts, failures = torture(cases, seed)
    print(*failures, sep="\n")
    print(f"{cases} cases: {dict(counts)}")
    sys.exit(bool(failures))
