from xml.etree import ElementTree

import pytest

from unpick.pages.formula import formula_to_unicode, mathml, text_to_html, text_to_unicode


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
    assert formula_to_unicode(latex) == text


def test_prose_on_the_terminal():
    text = r"It is $x \neq 0$, so $$x^2 > 0$$ holds for error ~ noise^2.0."
    assert text_to_unicode(text) == "It is x ≠ 0, so\n\n    x² > 0\n\nholds for error ~ noise^2.0."


def test_longer_names_are_not_taken_for_shorter_ones():
    assert (
        formula_to_unicode(r"\int_\infty \in \beta \eta \leq \left( \ldots") == "∫_∞ ∈ β η ≤ ( ..."
    )


def tags(element):
    return [node.tag.rpartition("}")[2] for node in ElementTree.fromstring(element).iter()]


def test_a_formula_becomes_mathml():
    assert tags(mathml("x_1")) == ["math", "mrow", "msub", "mi", "mn"]
    fraction = ElementTree.fromstring(mathml(r"\frac{1}{2}"))
    assert [tag for tag in tags(mathml(r"\frac{1}{2}")) if tag != "mrow"][1:] == [
        "mfrac",
        "mn",
        "mn",
    ]
    assert "".join(fraction.itertext()) == "12"


def test_a_formula_on_a_line_of_its_own_says_so():
    inline, block = mathml("x"), mathml("x", "block")
    assert 'display="inline"' in inline
    assert block == inline.replace("inline", "block")


def test_prose():
    html = text_to_html("a < b, `c < d` and $e$: $$f$$")
    assert html.startswith("a &lt; b, <code>c &lt; d</code> and <math")
    assert html.count('display="block"') == 1
    assert html.count("<math") == 2
    assert text_to_html("for 5 $ or so") == "for 5 $ or so"


@pytest.mark.parametrize(
    ("latex", "message"),
    [
        (r"\nosuch{x}", r"nosuch.*cannot be drawn: .nosuch$"),
        (r"x_1_2", r"'x_1_2' is not LaTeX: DoubleSubscripts"),
        (r"\left(x", r"is not LaTeX: ExtraLeft"),
    ],
)
def test_a_formula_that_cannot_be_drawn_is_named(latex, message):
    with pytest.raises(ValueError, match=message):
        mathml(latex)
