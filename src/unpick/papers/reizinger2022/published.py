"""Numbers as printed in Reizinger et al. (2022), from their stored results."""

from functools import partial
from pathlib import Path

from unpick.study.published import read_entry

published = partial(read_entry, Path(__file__).with_name("published.json"))
