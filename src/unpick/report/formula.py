"""Formulas written as LaTeX: drawn on pages, spelt in Unicode on the terminal.

Pages load nothing from elsewhere and run no scripts, so matplotlib draws the formulas. Each glyph
is kept once a page and used wherever it occurs.
"""

import re
from functools import partial
from html import escape

import numpy as np
from jaxtyping import Float
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextToPath

UNIT = TextToPath.FONT_SCALE  # glyphs are drawn at this size
FONT = FontProperties(size=UNIT, math_fontfamily="cm")
PLAIN = {
    **{r"\geq": "≥", r"\leq": "≤", r"\ge": "≥", r"\le": "≤", r"\neq": "≠", r"\approx": "≈"},
    **{r"\propto": "∝", r"\sim": "~", r"\to": "→", r"\rightarrow": "→", r"\Rightarrow": "⇒"},
    **{r"\Leftrightarrow": "⇔", r"\iff": "⇔", r"\in": "∈", r"\infty": "∞", r"\partial": "∂"},
    **{r"\nabla": "∇", r"\sum": "∑", r"\prod": "∏", r"\int": "∫", r"\cdot": "·", r"\times": "×"},
    **{r"\odot": "⊙", r"\circ": "∘", r"\pm": "±", r"\top": "T", r"\dagger": "†", r"\star": "*"},
    **{r"\ast": "*", r"\ldots": "...", r"\dots": "...", r"\cdots": "...", r"\forall": "for all "},
    **{r"\equiv": "≡", r"\ll": "≪", r"\gg": "≫", r"\ell": "ℓ", r"\mid": "|", r"\prime": "'"},
    **{r"\quad": "  ", r"\qquad": "   ", r"\,": " ", r"\;": " ", r"\!": "", r"\ ": " "},
    **{r"\{": "{", r"\}": "}", r"\|": "‖", r"\%": "%", r"\#": "#", r"\left": "", r"\right": ""},
    **{r"\arg": "arg ", r"\subset": "⊂", r"\langle": "⟨", r"\rangle": "⟩", r"\perp": "⊥"},
    **{r"\backslash": "\\", r"\leftarrow": "←", r"\mapsto": "↦"},
}
GREEK = dict(
    alpha="α", beta="β", gamma="γ", delta="δ", epsilon="ε", varepsilon="ε", zeta="ζ", eta="η",
    theta="θ", kappa="κ", lambda_="λ", mu="μ", nu="ν", xi="ξ", pi="π", rho="ρ", sigma="σ",
    tau="τ", phi="φ", varphi="φ", chi="χ", psi="ψ", omega="ω", Gamma="Γ", Delta="Δ",
    Theta="Θ", Lambda="Λ", Pi="Π", Sigma="Σ", Phi="Φ", Psi="Ψ", Omega="Ω",
)  # fmt: skip
ALONE = r"[a-zA-Z0-9]+|.[₀-₉ᵢⱼₖₙ]*|\([^()]*\)"  # needs no brackets
POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
FUNCTIONS = r"\\(arg|cosh?|det|diag|exp|log|max|min|sinh?|tanh?)(?![a-zA-Z])\s*(?=([\w\\])?)"
UP, DOWN = "\x01", "\x02"  # scripts that have been dealt with
ACCENTS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "overline": "\u0304"}
RAISED = dict(zip("0123456789+-()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ", strict=True))
LOWERED = dict(zip("0123456789ijkn", "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₙ", strict=True))


class Typesetter:
    """Draws the formulas of one page.

    Example:
        >>> page = Typesetter()
        >>> drawn = page.draw("x^2")
        >>> drawn.count("<use"), page.glyphs().count("<path")
        (2, 2)
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._paths: list[str] = []

    def draw(self, latex: str) -> str:
        """The formula as an inline picture that stands on the line of the text around it."""
        try:
            placed, shapes, rules = TextToPath().get_glyphs_mathtext(FONT, f"${latex}$")
        except ValueError as error:
            raise ValueError(f"formula {latex!r} cannot be drawn: {error}") from None
        for name, (vertices, codes) in shapes.items():
            if name not in self._names:
                self._names[name] = f"g{len(self._names)}"
                self._paths.append(
                    f'<path id="{self._names[name]}" d="{_path(vertices, codes)}"/>'
                )
        marks, corners = [], [np.zeros((1, 2))]
        for name, x, y, scale in placed:
            corners.append(np.asarray(shapes[name][0]).reshape(-1, 2) * scale + (x, y))
            turn = f"translate({x:.1f} {y:.1f}) scale({scale:.3g})"
            marks.append(f'<use href="#{self._names[name]}" transform="{turn}"/>')
        for outline, codes in [map(np.asarray, rule) for rule in rules]:
            corners.append(outline[:4])  # what follows only closes it
            marks.append(f'<path d="{_path(outline, codes)}"/>')
        points = np.concatenate(corners)
        left, low = points.min(0)
        width, height = points.max(0) - points.min(0)
        return (
            f'<svg class="math" role="img" aria-label="{escape(spell(latex))}" '
            f'style="width:{width / UNIT:.3f}em;height:{height / UNIT:.3f}em;'
            f'vertical-align:{low / UNIT:.3f}em" '
            f'viewBox="{left:.1f} {-low - height:.1f} {width:.1f} {height:.1f}">'
            f'<g transform="scale(1 -1)">{"".join(marks)}</g></svg>'
        )

    def glyphs(self) -> str:
        """What the pictures of the page use; it stands once on the page, after them all."""
        if not self._paths:
            return ""
        shapes = "".join(self._paths)
        return f'<svg width="0" height="0" aria-hidden="true"><defs>{shapes}</defs></svg>'

    def prose(self, text: str) -> str:
        """Text as HTML: `code`, $formula$, and $$formula$$ on a line of its own."""
        pieces = re.split(r"(\$\$.+?\$\$|\$.+?\$|`.+?`)", text)
        return "".join(self._piece(piece) for piece in pieces)

    def _piece(self, piece: str) -> str:
        if piece.startswith("$$") and len(piece) > 4:
            return f'<span class="display">{self.draw(piece[2:-2])}</span>'
        if piece.startswith("$") and len(piece) > 2:
            return self.draw(piece[1:-1])
        if piece.startswith("`") and len(piece) > 2:
            return f"<code>{escape(piece[1:-1])}</code>"
        return escape(piece)


def _path(vertices: Float[np.ndarray, "n 2"], codes: np.ndarray) -> str:
    """Of an SVG."""
    letters = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}
    drawn, last = [], None
    for (x, y), code in zip(vertices, codes, strict=True):
        if code == Path.CLOSEPOLY:
            drawn.append("Z")
        else:
            # A curve's letter stands before its first point only.
            letter = "" if code == last and code in (Path.CURVE3, Path.CURVE4) else letters[code]
            drawn.append(f"{letter}{x:g} {y:g}")
        last = code
    return " ".join(drawn)


def plain(text: str) -> str:
    r"""Prose with formulas between dollars, in Unicode; $$...$$ gets its own line.

    Example:
        >>> plain(r"noise^2 is not $\sigma_1^2$")
        'noise^2 is not σ₁²'
    """
    text = re.sub(r"\s*\$\$(.+?)\$\$\s*", lambda m: f"\n\n    {spell(m[1])}\n\n", text)
    return re.sub(r"\$(.+?)\$", lambda m: spell(m[1]), text).strip()


def spell(latex: str) -> str:
    r"""A formula in Unicode, on one line.

    Example:
        >>> spell(r"\frac{1}{N}\sum_i a_i^2 \geq \|\sigma_{j}\|^{1/N}")
        '(1/N) ∑ᵢ aᵢ² ≥ ‖σⱼ‖^(1/N)'
    """
    text = latex
    for name, sign in ACCENTS.items():
        text = re.sub(rf"\\{name}\{{(\w)\}}|\\{name} ?(\w)", rf"\1\2{sign}", text)
    text = re.sub(r"\\(?:mathrm|mathbf|mathcal|mathbb|mathit|operatorname)\{(\w+)\}", r"\1", text)
    text = re.sub(FUNCTIONS, lambda m: f"{m[1]} " if m[2] else m[1], text)
    for name, sign in GREEK.items():
        text = re.sub(rf"\\{name.strip('_')}(?![a-zA-Z])", sign, text)
    for name in sorted(PLAIN, key=len, reverse=True):
        text = text.replace(name, PLAIN[name])
    while (shorter := _innermost(text)) != text:
        text = shorter
    return re.sub(r" +", " ", text.replace(UP, "^").replace(DOWN, "_")).strip()


def _innermost(text: str) -> str:
    """One round of taking braces away, from the inside."""
    for sign, mark, letters in (("\\^", UP, RAISED), ("_", DOWN, LOWERED)):
        script = partial(_script, mark, letters)
        text = re.sub(rf"{sign}(?:\{{([^{{}}]*)\}}|([^\s{{}}]))", script, text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", lambda m: f"√{_grouped(m[1], POWERS)}", text)
    return re.sub(r"\\[td]?frac\{([^{}]*)\}\{([^{}]*)\}(\s*[\w(‖√∑∏∫])?", _fraction, text)


def _script(mark: str, letters: dict[str, str], found: re.Match[str]) -> str:
    inner = found[1] or found[2]
    if all(letter in letters for letter in inner):
        return "".join(letters[letter] for letter in inner)
    return mark + _grouped(inner)


def _fraction(found: re.Match[str]) -> str:
    """In brackets if something follows that might be taken for a part of the denominator."""
    fraction = f"{_grouped(found[1], POWERS)}/{_grouped(found[2], POWERS)}"
    return f"({fraction}) {found[3].strip()}" if found[3] else fraction


def _grouped(inner: str, scripts: str = "") -> str:
    """In brackets if it is more than one thing; the scripts may follow it."""
    inner = inner.strip()
    alone = f"({ALONE})[{scripts}]*" if scripts else ALONE
    return inner if re.fullmatch(alone, inner) else f"({inner})"
