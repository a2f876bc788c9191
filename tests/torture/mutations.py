"""Ways to spoil a file, drawn from a seeded generator."""

import os

HTML = b"<!DOCTYPE html><html><body>Please log in</body></html>"


def flip(content, rng):
    for _ in range(rng.choice((1, 1, 1, 8, 64))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def flip_early(content, rng):
    """Headers are where sizes stand."""
    content[rng.randrange(min(len(content), 128))] ^= 1 << rng.randrange(8)


def cut(content, rng):
    del content[rng.randrange(len(content)) :]


def extend(content, rng):
    content += rng.randbytes(rng.choice((1, 10, 1000)))


def clear(content, rng):
    start = rng.randrange(len(content))
    stop = min(len(content), start + rng.choice((1, 8, 100)))
    content[start:stop] = bytes(stop - start)


def repeat(content, rng):
    start = rng.randrange(len(content))
    content[start:start] = content[start : start + rng.choice((1, 8, 100))]


def huge_number(content, rng):
    """Every byte of a size of four or eight bytes."""
    start = rng.randrange(max(1, min(len(content), 300) - 8))
    content[start : start + rng.choice((4, 8))] = rng.choice((b"\xff", b"\x7f")) * rng.choice(
        (4, 8)
    )


def nines(content, rng):
    """Digits that stand for a shape or a number."""
    places = [k for k, byte in enumerate(content[:4000]) if chr(byte).isdigit()]
    if places:
        start = rng.choice(places)
        content[start : start + 1] = b"9" * rng.choice((1, 5, 20, 400))


def another_letter(content, rng):
    content[rng.randrange(len(content))] = rng.randrange(256)


def page(content, rng):
    content[:] = HTML


def empty(content, rng):
    content.clear()


def noise(content, rng):
    content[:] = rng.randbytes(rng.choice((3, 100, 5000)))


IN_A_FILE = (
    flip,
    flip_early,
    cut,
    extend,
    clear,
    repeat,
    huge_number,
    nines,
    another_letter,
    page,
    empty,
    noise,
)


def spoil(path, others, rng):
    """Spoil one file, or put something else in its place; returns what was done."""
    change = rng.choice((*IN_A_FILE, *IN_A_FILE, gone, folder, pipe, nowhere, swapped))
    if change in IN_A_FILE:
        content = bytearray(path.read_bytes())
        if content:
            change(content, rng)
        path.write_bytes(content)
    else:
        change(path, others, rng)
    return change.__name__


def gone(path, others, rng):
    path.unlink()


def folder(path, others, rng):
    path.unlink()
    path.mkdir()


def pipe(path, others, rng):
    path.unlink()
    os.mkfifo(path)


def nowhere(path, others, rng):
    path.unlink()
    path.symlink_to("nothing-is-here")


def swapped(path, others, rng):
    """The content of a file of another kind."""
    path.write_bytes(rng.choice(others).read_bytes())
