"""`unpick data`."""

from collections.abc import Callable
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

from unpick.arguments import Arguments, fail, listed, parse, write
from unpick.names import pick


def data(arguments: Arguments) -> None:
    """List, check, draw or download data sets."""
    if not arguments or {"-h", "--help"} & {*arguments[:2]}:
        write(DATA_HELP)
        return
    pick(DATA_VERBS, arguments.pop(0), "data command")(arguments)


def data_list(arguments: Arguments) -> None:
    """List all data sets, and which of them are on this machine."""
    from rich.console import Console
    from rich.table import Table

    from unpick.data import DATASETS, DataDamaged, DataMissing
    from unpick.data.files import FileConfig

    if arguments:
        fail(f"data list takes no arguments, got {' '.join(arguments)}")
    table = Table("name", "what", "where")
    for name, kind in DATASETS.items():
        config, where = kind(), "embedded"
        if isinstance(config, FileConfig):
            try:
                config.files()
                where = "on disk"
            except DataMissing:
                where = "not here"
            except DataDamaged:
                where = "damaged"
        table.add_row(name, (kind.__doc__ or "").splitlines()[0], where)
    Console().print(table)


def data_check(arguments: Arguments) -> None:
    """Verify the files of a data set, or describe your own file or folder."""
    from unpick.cli.own import pick_dataset
    from unpick.data import DATASETS
    from unpick.data.cache import sums_of
    from unpick.data.files import FileConfig, check
    from unpick.data.own import is_own

    if not arguments or arguments[0].startswith("-"):
        fail("data check: which data set? `unpick data check mnist [--path FOLDER]`")
    name, rest = arguments[0], arguments[1:]
    if name not in DATASETS and is_own(name):
        write(check_own(name, rest))
        return
    config = parse(pick_dataset(name), rest, f"unpick data check {name}")
    if not isinstance(config, FileConfig):
        sums = sums_of(config.load, afresh=True)
        dataset = config.load()
        right = "".join(f"; {file} is right: sha256 {sha256}" for file, sha256 in sums.items())
        write(f"{name} is made here: {len(dataset)} observations of shape {dataset.shape}{right}")
        return
    write(check(config))


def check_own(path: str, arguments: Arguments) -> str:
    """Your own data in words: kind, size, range, factors, and what a training would assume."""
    from unpick.cli.own import describe_data, describe_set_up
    from unpick.data import own_data
    from unpick.data.cache import sums_of
    from unpick.training.presets import fit_shape

    own = own_data(path)
    config = parse(type(own), arguments, f"unpick data check {path}", default=own)
    sums_of(config.load, afresh=True)  # raises if what is cached has changed
    set_up = describe_set_up(fit_shape(config, config.load()))
    lines = [*describe_data(config), f"sha256 {config.sha256}", f"a training would use {set_up}"]
    return "\n  ".join(lines)


def data_render(arguments: Arguments) -> None:
    """Draw a contact sheet of a data set, or of your own file or folder."""
    from unpick.cli.own import pick_dataset
    from unpick.data import DATASETS, own_data
    from unpick.data.own import is_own
    from unpick.plots import contact_sheet

    if not arguments or arguments[0].startswith("-"):
        fail("data render: which data set? `unpick data render sprites`")
    name, rest = arguments[0], arguments[1:]
    if name not in DATASETS and is_own(name):
        config: Any = own_data(name)
    else:
        config = pick_dataset(name)()
    whole = make_dataclass("Render", [("data", type(config)), ("out", Path)])
    default = whole(config, Path(f"{config.name}.png"))
    options = parse(whole, rest, f"unpick data render {name}", default=default)
    contact_sheet(options.data.load()).savefig(options.out, dpi=110)
    write(f"wrote {options.out}")


def data_get(arguments: Arguments) -> None:
    """Download the files of a data set; resumes an interrupted download."""
    from unpick.data.download import REMOTE, get

    if len(arguments) != 1 or arguments[0].startswith("-"):
        fail(f"data get: name one of {', '.join(REMOTE)}")
    for path, verified in get(arguments[0]):
        told = "is right" if verified else "is fetched, not verified: no checksum is published"
        write(f"{path} {told}")


DATA_VERBS: dict[str, Callable[[Arguments], None]] = {
    "list": data_list,
    "check": data_check,
    "render": data_render,
    "get": data_get,
}

DATA_HELP = f"""usage: unpick data COMMAND [NAME|PATH] [OPTIONS]

{listed(DATA_VERBS)}

  unpick data check mnist --path FOLDER
  unpick data check wine.csv --factors class
  unpick data render sprites --size 32 --out sprites.png
  unpick data get dsprites"""
