"""Tables as LaTeX, for pdflatex with the packages booktabs and graphicx."""

import re

from latex2mathml.symbols_parser import convert_symbol

from unpick.pages.formula import DOWN, UP
from unpick.pages.page import Table

# Commands that LaTeX has without a package; the library knows the character that each one draws.
COMMANDS = re.findall(
    r"\\\w+",
    r"\alpha \beta \gamma \delta \epsilon \varepsilon \zeta \eta \theta \iota \kappa \lambda \mu "
    r"\nu \xi \pi \rho \sigma \tau \upsilon \phi \varphi \chi \psi \omega \Gamma \Delta \Theta "
    r"\Lambda \Xi \Pi \Sigma \Phi \Psi \Omega \pm \times \cdot \circ \leq \geq \neq \approx \ll "
    r"\gg \propto \in \infty \sum \prod \int \partial \nabla \surd \perp \Vert \rightarrow "
    r"\leftarrow",
)
SPECIAL = {
    **{chr(int(convert_symbol(command) or "", 16)): f"${command}$" for command in COMMANDS},
    **{chr(sign): f"$^{{{chr(letter)}}}$" for letter, sign in UP.items()},
    **{chr(sign): f"$_{{{chr(letter)}}}$" for letter, sign in DOWN.items()},
    **{mark: f"\\{mark}" for mark in "&%_#${}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    **{"`": r"\textasciigrave{}", '"': "''", "“": "``", "”": "''", "’": "'", "…": r"\ldots{}"},
    **{"\N{EN DASH}": "--", "\N{EM DASH}": "---", "\N{MINUS SIGN}": "$-$"},
    **{"[": "{[}", "]": "{]}", "*": "{*}"},  # at the start of a row they would be options of \\
}


def escape(text: str) -> str:
    r"""Text for LaTeX: special characters escaped, mathematical characters as formulas.

    Accented Latin letters stay, since pdflatex reads them. Letters of other scripts stay, too:
    they need a package, or xelatex.

    Example:
        >>> print(escape("β_1: 50 % ± 2 at -3"))
        $\beta$\_1: 50 \% $\pm$ 2 at $-$3
    """
    text = re.sub(r"(?<![\w.-])-(?=\d)", "\N{MINUS SIGN}", " ".join(text.split()))
    text = "".join(SPECIAL.get(letter, letter) for letter in re.sub("-(?=-)", "-\0", text))
    return text.replace("\0", "{}")  # two hyphens would make a dash


def to_latex(table: Table) -> str:
    """A floating table with its caption above, groups under bold heads, and footnotes below."""
    width = len(table.columns)
    grouped = any(not any(map(str, cells)) for _, *cells in table.rows)
    rows = []
    for row in table.rows:
        name, *cells = [escape(str(cell)) for cell in row]
        if any(cells):
            rows.append(_row([rf"\quad {name}" if grouped else name, *cells]))
        else:
            rows += [r"\addlinespace"] * bool(rows)
            rows.append(_row([rf"\multicolumn{{{width}}}{{l}}{{\textbf{{{name}}}}}"]))
    footnotes = [rf"\par {escape(text)}" for text in table.footnotes]
    lines = [
        r"% \usepackage{booktabs,graphicx}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(table.caption)}}}\medskip",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",  # a wide one shrinks
        rf"\begin{{tabular}}{{l{('l' if table.words else 'r') * (width - 1)}}}",
        r"\toprule",
        _row([escape(name) for name in table.columns]),
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}}",
    ]
    if footnotes:
        lines += [r"\par\medskip", r"\begin{minipage}{\linewidth}\footnotesize\raggedright"]
        lines += [*footnotes, r"\end{minipage}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _row(cells: list[str]) -> str:
    return rf"{' & '.join(cells)} \\"
