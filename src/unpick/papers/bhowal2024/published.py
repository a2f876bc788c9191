"""Numbers as printed in Bhowal et al. (2024)."""

from functools import partial
from pathlib import Path

from unpick.study.published import read_entry

published = partial(read_entry, Path(__file__).with_name("published.json"))
