"""Tables as LaTeX and Markdown: nothing of the text is taken for a command."""

import csv
import re

import pytest

from unpick.pages import Link, Table
from unpick.pages.latex import COMMANDS, SPECIAL, escape, to_latex
from unpick.pages.table_file import write_csv, write_table

TABLE = Table(
    "50 % ± 2",
    ("", "a_b", "c"),
    (("x & y", "", ""), ("[1]", "-0.5", Link("2", "#there")), ("*", "", ""), ("z", "", "3")),
    ("(1) beta 10^-4 | --scale",),
)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"a & b % c _ d # e $ f { g }", r"a \& b \% c \_ d \# e \$ f \{ g \}"),
        (r"~ ^ \x", r"\textasciitilde{} \textasciicircum{} \textbackslash{}x"),
        ("β ± σ₁² – …", r"$\beta$ $\pm$ $\sigma$$_{1}$$^{2}$ -- \ldots{}"),
        ("-0.5 (-3) 1e-5 thesis-3.4 a-1", "$-$0.5 ($-$3) 1e-5 thesis-3.4 a-1"),
        ("--scale ---", "-{}-scale -{}-{}-"),
        (
            "<a> | `b`",
            r"\textless{}a\textgreater{} \textbar{} \textasciigrave{}b\textasciigrave{}",
        ),
        ("two\n lines é", "two lines é"),
    ],
)
def test_latex_prints_the_characters_that_it_is_given(text, escaped):
    assert escape(text) == escaped


def test_no_character_is_escaped_twice_and_every_command_has_its_character():
    for mark, instead in SPECIAL.items():
        assert escape(f"a{mark}b") == f"a{instead}b"
    assert {f"${command}$" for command in COMMANDS} <= {*SPECIAL.values()}
    assert SPECIAL["β"] == r"$\beta$"
    assert SPECIAL["ε"] == r"$\varepsilon$"


def test_the_latex_table_has_the_cells_under_their_heads(tmp_path):
    write_table(TABLE, tmp_path / "new" / "t.tex")
    text = (tmp_path / "new" / "t.tex").read_text()
    assert text == to_latex(TABLE)
    body = re.search(r"\\begin\{tabular\}\{lrr\}\n(.*)\\end\{tabular\}", text, re.DOTALL)[1]
    assert body.splitlines() == [
        r"\toprule",
        r" & a\_b & c \\",
        r"\midrule",
        r"\multicolumn{3}{l}{\textbf{x \& y}} \\",
        r"\quad {[}1{]} & $-$0.5 & 2 \\",
        r"\addlinespace",
        r"\multicolumn{3}{l}{\textbf{{*}}} \\",
        r"\quad z &  & 3 \\",
        r"\bottomrule",
    ]
    assert r"\caption{50 \% $\pm$ 2}" in text
    assert r"\par (1) beta 10\textasciicircum{}$-$4 \textbar{} -{}-scale" in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    opened, closed = (re.findall(rf"\\{word}\{{(\w+)\}}", text) for word in ("begin", "end"))
    assert sorted(opened) == sorted(closed) == ["minipage", "table", "tabular"]


def test_a_latex_table_without_groups_or_footnotes():
    text = to_latex(Table("c", ("name", "value"), (("[a]", "1"),), words=True))
    assert "\n{[}a{]} & 1 \\\\\n" in text
    assert r"\begin{tabular}{ll}" in text
    assert "minipage" not in text


def test_the_markdown_table_has_the_cells_under_their_heads(tmp_path):
    write_table(TABLE, tmp_path / "t.md")
    assert (tmp_path / "t.md").read_text().splitlines() == [
        "50 % ± 2",
        "",
        "|  | a_b | c |",
        "| --- | ---: | ---: |",
        "| **x &amp; y** |  |  |",
        "| [1] | -0.5 | 2 |",
        r"| **\*** |  |  |",
        "| z |  | 3 |",
        "",
        r"- (1) beta 10^-4 \| --scale",
    ]


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"table must end in \.tex or \.md, got .*t\.pdf"):
        write_table(TABLE, tmp_path / "t.pdf")
    assert not [*tmp_path.iterdir()]


def test_csv_is_read_back_as_it_was(tmp_path):
    records = [{"a": 'x, "y"\nz', "b": 0.1 + 0.2}, {"a": "é", "b": None}]
    write_csv(records, ("a", "b"), tmp_path / "new" / "r.csv")
    with (tmp_path / "new" / "r.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["a"], float(first["b"])) == (records[0]["a"], records[0]["b"])
    assert second == {"a": "é", "b": ""}
