import re

import pytest

from unpick.report.formula import Typesetter, plain, spell


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\prod_{j=1}^d \|c_j\| \geq \sigma_1", "∏_(j=1)^d ‖cⱼ‖ ≥ σ₁"),
        (r"\hat{M} = M (M^\top M)^{-1/2}", "M\u0302 = M (M^T M)^(-1/2)"),
        (r"\sqrt{n / \sum_i x_i^2}", "√(n / ∑ᵢ xᵢ²)"),
        (r"\frac{\beta}{2}\left(\mathrm{tr}(\Sigma) - d\right)", "(β/2) (tr(Σ) - d)"),
        (r"e^{x^{2}}", "e^(x²)"),
        (r"\frac{k_1}{k_2} = t_{(i)}", "k₁/k₂ = t_(i)"),
        (r"\frac{(a + b)^2}{\sigma_1^2}, x", "(a + b)²/σ₁², x"),
        (r"\frac{1}{\beta} v_i", "(1/β) vᵢ"),
        (r"-\log\sigma_j^2 + \log(2) + \tanh z", "-log σⱼ² + log(2) + tanh z"),
    ],
)
def test_formulas_on_the_terminal(latex, text):
    assert spell(latex) == text


def test_prose_on_the_terminal():
    text = r"It is $x \neq 0$, so $$x^2 > 0$$ holds for error ~ noise^2.0."
    assert plain(text) == "It is x ≠ 0, so\n\n    x² > 0\n\nholds for error ~ noise^2.0."


def test_longer_names_are_not_taken_for_shorter_ones():
    assert spell(r"\int_\infty \in \beta \eta \leq \left( \ldots") == "∫_∞ ∈ β η ≤ ( ..."


def test_a_drawing_stands_on_the_line_of_the_text():
    page = Typesetter()
    below = [float(re.search(r"vertical-align:([-\d.]+)em", page.draw(x))[1]) for x in ("x", "y")]
    assert below[0] > below[1]  # y goes below the line
    wide = [float(re.search(r"width:([\d.]+)em", page.draw(x))[1]) for x in ("m", "mm")]
    assert wide[1] == pytest.approx(2 * wide[0], rel=0.1)


def test_a_fraction_has_a_thin_line():
    drawn = Typesetter().draw(r"\frac{1}{2}")
    (line,) = re.findall(r'<path d="([^"]*)"', drawn)
    heights = [float(y) for _, y in re.findall(r"[ML](\S+) (\S+)", line)]
    assert 0 < max(heights) - min(heights) < 10  # of a hundred


def test_each_glyph_is_kept_once():
    page = Typesetter()
    page.draw("a + a")
    page.draw("a")
    assert page.glyphs().count("<path") == 2


def test_prose():
    page = Typesetter()
    html = page.prose("a < b, `c < d` and $e$: $$f$$")
    assert html.startswith("a &lt; b, <code>c &lt; d</code> and <svg")
    assert html.count('<span class="display"><svg') == 1
    assert page.prose("for 5 $ or so") == "for 5 $ or so"


def test_a_formula_that_cannot_be_drawn_is_named():
    with pytest.raises(ValueError, match=r"nosuch.*cannot be drawn"):
        Typesetter().draw(r"\nosuch{x}")
