"""Tables: columns become observations or factors, and mistakes are named by row and column."""

import importlib.util

import numpy as np
import pytest
import torch

from unpick.data import from_table
from unpick.data.table import read_csv


def write(folder, *lines, name="t.csv"):
    (folder / name).write_text("\n".join(lines))
    return folder / name


def numbers(n=12, columns=2):
    return [",".join(f"{(k * 7 + c * 3) % 11 + c}" for c in range(columns)) for k in range(n)]


def test_columns_have_mean_0_and_variance_1(folder, rng):
    x = rng.normal(5, [1, 1000, 1e-6], size=(200, 3))
    path = write(folder, "a,b,c", *(",".join(map(repr, map(float, row))) for row in x))
    data = from_table(path)
    got = data.observe(torch.arange(200)).double()
    assert data.name == "t"
    assert torch.allclose(got.mean(0), torch.zeros(3).double(), atol=1e-6)
    assert torch.allclose(got.var(0, correction=0), torch.ones(3).double(), atol=1e-5)
    raw = from_table(path, standardise=False).observe(torch.arange(200)).numpy()
    assert np.array_equal(raw, x.astype(np.float32))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_files_and_columns_in_memory_are_the_same_data(folder, separator):
    columns = {
        "a": [float(k) for k in range(12)],
        "kind": [["b", "a", "c, d"][k % 3] for k in range(12)],
        "z": [k % 4 for k in range(12)],
        "id": list(range(12)),
    }
    rows = [
        separator.join(f'"{value}"' for value in row)
        for row in zip(*columns.values(), strict=True)
    ]
    path = write(folder, separator.join(columns), *rows, "")
    assert [*read_csv(path)] == [*columns]
    rows = torch.arange(12)
    for table in (path, columns):
        data = from_table(table, factors=["kind", "z"], drop=["id"])
        assert data.shape == (1,)
        assert data.columns == ("a",)
        assert [(f.name, f.categorical) for f in data.factors] == [("kind", True), ("z", False)]
        assert data.factor_values(rows)[:, 0].tolist() == [1, 0, 2] * 4
        assert data.factor_values(rows)[:, 1].tolist() == [0, 1, 2, 3] * 3


def test_separators_inside_quotes_are_none(folder):
    assert [*read_csv(write(folder, '"a, b, c";"d"', "1;2"))] == ["a, b, c", "d"]


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (["a,b", *numbers(), "3,"], {}, r"row 13 .*column 'b' of .*t\.csv is '': 1 values"),
        (["a,b", "nan,1", *numbers()], {}, "row 1 .*column 'a' .* is 'nan'"),
        (["a,b", *numbers(), "1,inf"], {}, "row 13 .*column 'b' .* is 'inf'"),
        (["a,b", *numbers(), "1,NA"], {"factors": ["b"]}, "row 13 .*column 'b' .* is 'NA'"),
        (
            ["a,b", *numbers(), "1,tall"],
            {},
            "column 'b' .*holds text, the first in row 13: 'tall'",
        ),
        (["a;b", *["1,5;2"] * 12], {}, "'1,5'; write numbers with a decimal point"),
        (["a,b", *['"1,200",2'] * 12], {}, "'1,200'; write numbers with a decimal point"),
        (["a,b", *numbers(), "1,2,3"], {}, "row 13 of .* has 3 cells, and the header has 2"),
        (["a,b", *["5,1", "5,2"] * 6], {}, "column 'a' .*is constant, every row has 5"),
        (["a,b", *["5,1", "5,2"] * 6], {"factors": ["a"]}, "factor 'a' of .* is constant"),
        (["a,b", *numbers(9)], {}, "must have at least 10 rows, .* got 9"),
        (["a,b"], {}, "at least 10 rows, .* got 0"),
        ([""], {}, "t.csv is empty"),
        (numbers(), {}, "must begin with a row of names, got the numbers"),
        ([",b", *numbers()], {}, "column 1 of .* has no name; pandas"),
        (["a,a", *numbers()], {}, "must have different names, got 'a' twice"),
        (["a,b", *numbers()], {"factors": ["B"]}, "unknown column of .*t.csv 'B'"),
        (["a,b", *numbers()], {"factors": ["a", "b"]}, "must have a column that is no factor"),
        (["a,b", *numbers()], {"factors": ["a"], "drop": ["a"]}, "both factors and drop"),
        (["a,b", *numbers()], {"factors": ["a,b"]}, "must have no comma, got 'a,b'"),
        (["a,b", *(f"{k},{k}_5" for k in range(12))], {}, "column 'b' .*holds text, .*: '0_5'"),
        (["a,b", "1,1e300", *numbers()], {}, "'b' .*cannot be standardised: its deviation is inf"),
        (
            ["a,b", *["5,0", "6,1e-200"] * 6],
            {},
            "'b' .*cannot be standardised: its deviation is 0",
        ),
        (
            ["a,b", *(f"{k},{10**9 + k}" for k in range(12))],
            {"factors": ["b"]},
            "factor 'b' .* has values that are equal in float32, such as 1000000000 ",
        ),
        (["a,b", *numbers(), '"1,2'], {}, "truncated or no file of its kind"),
    ],
)
def test_mistakes_name_the_row_and_column(folder, lines, options, message):
    with pytest.raises(ValueError, match=message):
        from_table(write(folder, *lines), **options)


def test_bytes_that_are_no_text_are_refused(folder):
    (folder / "t.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    with pytest.raises(ValueError, match=r"t\.csv must be text in UTF-8"):
        from_table(folder / "t.csv")


def test_data_frames_with_missing_values_or_text(rng):
    column = rng.normal(size=20)
    gap = np.where(np.arange(20) == 4, np.nan, column)
    words = np.array(["a", None] * 10, dtype=object)
    objects = np.array(list(column), dtype=object)
    assert from_table({"a": objects, "b": column > 0}).shape == (2,)
    for table, message in (
        ({"a": gap}, "row 5 .*column 'a' of table is 'nan'"),
        ({"a": column, "b": words}, "row 2 .*column 'b' of table is 'None': 10 values"),
        ({"a": np.arange("2020-01-01", "2020-01-21", dtype="datetime64[D]")}, "holds text"),
        ({"a": column, "b": column[:3]}, "must have one length"),
        ({"a": column, "b": ["x", "nan"] * 10}, "row 2 .*column 'b' of table is 'nan'"),
        ({"a": column, "b": np.array(["NaT", "2020-01-01"] * 10, "M8[D]")}, "row 1 .* is 'NaT'"),
        ({1: column, "1": column}, "must have different names, got '1' twice"),
        ([[1, 2]], "must be a data frame of pandas or polars"),
    ):
        with pytest.raises(ValueError, match=message):
            from_table(table)


def test_parquet_without_a_reader_says_what_to_install(folder, monkeypatch):
    find = importlib.util.find_spec
    absent = ("pyarrow", "polars")
    monkeypatch.setattr(
        "unpick.data.table.find_spec", lambda name: None if name in absent else find(name)
    )
    (folder / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="install pyarrow or polars"):
        from_table(folder / "t.parquet")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_and_parquet(folder, library, rng):
    frames = importlib.import_module(library)
    columns = {"a": rng.normal(size=20), "b": rng.integers(5, size=20), "c": list("xyxyx" * 4)}
    frame = frames.DataFrame(columns)
    tables = [frame]
    if library == "polars":  # pandas writes parquet with pyarrow, which we do without
        frame.write_parquet(folder / "t.parquet")
        tables.append(folder / "t.parquet")
    expected = from_table(columns, factors=["c"])
    for table in tables:
        data = from_table(table, factors=["c"])
        rows = torch.arange(20)
        assert torch.equal(data.observe(rows), expected.observe(rows))
        assert torch.equal(data.factor_values(rows), expected.factor_values(rows))
    gap = frames.DataFrame({"a": [1, 2, None] + [4] * 17})
    with pytest.raises(ValueError, match=r"row 3 .*column 'a'"):
        from_table(gap)


def test_columns_are_named_by_a_text_or_a_list(folder):
    path = write(folder, "a,b,c,d", *(f"{k},{k % 3},{k % 2},{-k}" for k in range(12)))
    frame = pytest.importorskip("pandas").read_csv(path)
    for table in (path, frame):
        for factors in ("b,c", ["b", "c"]):
            data = from_table(table, factors=factors, drop="d")
            assert [factor.name for factor in data.factors] == ["b", "c"]
            assert data.shape == (1,)
    numbered = frame.set_axis(range(4), axis=1)
    assert from_table(numbered, factors=[1]).factors[0].name == "1"
