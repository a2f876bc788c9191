"""Formulas written as LaTeX: MathML on pages, Unicode on the terminal.

Pages load nothing from elsewhere and run no scripts; browsers draw MathML by themselves.
"""

import re
from html import escape
from typing import Literal, get_args

from latex2mathml.converter import convert
from latex2mathml.symbols_parser import convert_symbol

from unpick.names import unknown_choice

Display = Literal["inline", "block"]

UP = str.maketrans("0123456789+-()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ")
DOWN = str.maketrans("0123456789ijkn", "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₙ")
ACCENTS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304"}
SPELT = {  # where the library has another sign or none; ⦃, ⦄ and ⁄ stand in until braces are gone
    **{r"\top": "T", r"\ldots": "...", r"\mid": "|", r"\{": "⦃", r"\}": "⦄", r"\frac": "⁄"},
    **{r"\sqrt": "√", r"\epsilon": "ε", r"\phi": "φ", r"\,": " ", r"\;": " ", r"\ ": " "},
    **{r"\!": "", r"\quad": "  ", r"\left": "", r"\right": ""},
}


def mathml(latex: str, display: Display = "inline") -> str:
    """The formula as a MathML element, within a line or on a line of its own."""
    if display not in get_args(Display):
        raise unknown_choice("display", display, Display)
    try:
        element = convert(latex, display=display)
    except Exception as error:  # the library's errors have no common class of their own
        raise ValueError(f"formula {latex!r} is not LaTeX: {type(error).__name__}") from None
    if unknown := re.search(r"\\\w*", element):  # the library passes unknown commands through
        raise ValueError(f"formula {latex!r} has a command that cannot be drawn: {unknown[0]}")
    return element


def text_to_html(text: str) -> str:
    """Convert text to HTML: `code`, $formula$, and $$formula$$ on a line of its own."""
    return "".join(map(_piece_to_html, re.split(r"(\$\$.+?\$\$|\$.+?\$|`.+?`)", text)))


def _piece_to_html(piece: str) -> str:
    if piece.startswith("$$") and len(piece) > 4:
        return mathml(piece[2:-2], "block")
    if piece.startswith("$") and len(piece) > 2:
        return mathml(piece[1:-1])
    if piece.startswith("`") and len(piece) > 2:
        return f"<code>{escape(piece[1:-1])}</code>"
    return escape(piece)


def text_to_unicode(text: str) -> str:
    r"""Convert text with formulas between dollars to Unicode; $$...$$ gets its own line.

    Example:
        >>> text_to_unicode(r"noise^2 is not $\sigma_1^2$")
        'noise^2 is not σ₁²'
    """
    text = re.sub(r"\s*\$\$(.+?)\$\$\s*", lambda m: f"\n\n    {_formula(m)}\n\n", text)
    return re.sub(r"\$(.+?)\$", _formula, text).strip()


def _formula(found: re.Match[str]) -> str:
    return formula_to_unicode(found[1])


def formula_to_unicode(latex: str) -> str:
    r"""Convert a formula to Unicode, on one line.

    Example:
        >>> formula_to_unicode(r"\frac{1}{N}\sum_i a_i^2 \geq \|\sigma_{j}\|^{1/N}")
        '(1/N) ∑ᵢ aᵢ² ≥ ‖σⱼ‖^(1/N)'
    """
    text = re.sub(r"\\(hat|tilde|bar) ?\{?(\w)\}?", lambda m: m[2] + ACCENTS[m[1]], latex)
    text = re.sub(r"\\mathrm\{(\w+)\}", r"\1", text)
    text = re.sub(r"\\([a-zA-Z]+|.)(?=([^\W_]|\\)?)", _symbol, text)
    text = re.sub(r"([_^])([^\s{])", r"\1{\2}", text)
    while (shorter := _without_braces(text)) != text:
        text = shorter
    return re.sub(" +", " ", text.replace("⦃", "{").replace("⦄", "}")).strip()


def _symbol(command: re.Match[str]) -> str:
    if command[0] in SPELT:
        return SPELT[command[0]]
    if code := convert_symbol(command[0]):
        return chr(int(code, 16))
    return f"{command[1]} " if command[2] else command[1]  # a function, such as log


def _without_braces(text: str) -> str:
    """Replace the innermost pairs of braces by brackets, or remove them."""
    text = re.sub(r"([_^])\{([^{}]*)\}", _script, text)
    text = re.sub(r"√\{([^{}]*)\}", lambda m: f"√{_grouped(m[1])}", text)
    return re.sub(r"⁄\{([^{}]*)\}\{([^{}]*)\}(\s*[\w(‖√∑∏∫])?", _fraction, text)


def _fraction(found: re.Match[str]) -> str:
    """Write a fraction, in brackets if what follows could be read as part of the denominator."""
    fraction = f"{_grouped(found[1])}/{_grouped(found[2])}"
    return f"({fraction}) {found[3].strip()}" if found[3] else fraction


def _script(found: re.Match[str]) -> str:
    letters = UP if found[1] == "^" else DOWN
    if all(ord(letter) in letters for letter in found[2]):
        return found[2].translate(letters)
    return found[1] + _grouped(found[2], r"[a-zA-Z0-9]+|.|\([^()]*\)")


def _grouped(text: str, alone: str = r"\w+|.|\([^()]*\)\w*") -> str:
    """Put an expression into brackets if it is more than one symbol."""
    text = text.strip()
    return text if re.fullmatch(alone, text) else f"({text})"
