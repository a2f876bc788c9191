import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unpick.pages.formula import text_to_html, text_to_unicode
from unpick.papers.ledger import LEDGER, ledger
from unpick.study.ledger import Correction, Entry, Evidence, Mutation, judge
from unpick.study.ledger.checks import Everywhere, Order
from unpick.study.ledger.instances import KINDS, decoder, rotation

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "ledger.json"
KEPT = {entry["id"]: entry for entry in json.loads(RESULTS.read_text())}
UNIVERSAL = [name for name, entry in LEDGER.items() if isinstance(entry.check, Everywhere)]


def numbered(initial, **counts):
    return {f"{initial}-{kind}{k}" for kind, count in counts.items() for k in range(1, count + 1)}


def test_every_numbered_claim_of_the_papers_has_an_entry():
    papers = numbered("Z", T=2, P=7, L=8, C=1) | numbered("B", T=2, P=7, L=13)
    papers |= numbered("A", T=5, R=5) | {"A-C1.1", "A-C2.1", "A-C3.1"}
    assert papers <= {*LEDGER}


@pytest.mark.parametrize("name", LEDGER)
def test_the_claim_stands_and_its_mutation_falls(name):
    judgement = judge(LEDGER[name])
    assert judgement.evidence.holds, judgement.evidence.text
    assert not judgement.mutation.holds, judgement.mutation.text
    if judgement.printed is not None:
        assert not judgement.printed.holds, judgement.printed.text
    assert judgement.word != "not confirmed"
    assert judgement.word == KEPT[name]["verdict"]
    if judgement.word == "approximate":
        assert judgement.evidence.size
        assert judgement.evidence.errors


@pytest.mark.slow
@pytest.mark.parametrize("name", UNIVERSAL)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0, 1, exclude_max=True))
def test_universal_claims_hold_on_whatever_is_drawn(name, seed, share):
    check = LEDGER[name].check
    kind = check.kinds[int(share * len(check.kinds))]
    instance = check.draw(np.random.default_rng(seed), kind)
    assert check.violation(LEDGER[name].standing, instance) <= check.tolerance


@pytest.mark.parametrize("name", LEDGER)
def test_an_entry_can_be_read_everywhere(name):
    entry = LEDGER[name]
    texts = [entry.statement, entry.assumptions, entry.remark, entry.mutation.text]
    formulas = [entry.formula]
    if entry.correction is not None:
        texts += [entry.correction.text, entry.correction.charitable]
        formulas.append(entry.correction.formula)
    for text in [*texts, *[f"$${formula}$$" for formula in formulas if formula]]:
        html = text_to_html(text)
        assert "\\" not in html
        assert "$" not in html
        for element in re.findall("<math.*?</math>", html):
            assert "".join(ElementTree.fromstring(element).itertext())
        assert "\\" not in text_to_unicode(text).replace("\\\\", ""), text_to_unicode(text)
        assert "$" not in text_to_unicode(text)
    assert "$" not in entry.title
    assert entry.formula
    assert entry.assumptions


def claim(printed, correction=None, mutation=-1, **more):
    """Of a number, which the check wants positive."""
    fields = dict.fromkeys(("id", "source", "title", "statement", "formula", "assumptions"), "")
    return Entry(
        **fields,
        printed=printed,
        check=lambda number: Evidence(number > 0, str(number)),
        mutation=Mutation("", mutation),
        correction=correction,
        **more,
    )


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        (claim(1), "holds"),
        (claim(1, approximation=True), "approximate"),
        (claim(-1), "not confirmed"),
        (claim(1, mutation=2), "not confirmed"),
        (claim(-1, Correction("", "", 1)), "holds after correction"),
        (claim(-1, Correction("", "", 1, "claim")), "does not follow as printed"),
        (claim(-1, Correction("", "", -2)), "not confirmed"),
        (claim(2, Correction("", "", 1)), "not confirmed"),
        (claim(-1, Correction("", "", 1), mutation=1), "not confirmed"),
    ],
)
def test_the_verdict_is_what_the_checks_found(entry, word):
    judgement = judge(entry)
    assert judgement.word == word
    standing = entry.correction.reading if entry.correction else entry.printed
    assert judgement.evidence.text == str(standing)


def test_the_counterexample_told_is_the_smallest():
    check = Everywhere(lambda limit, m: m.shape[1] - limit, decoder, "matrices")
    assert check(5).holds
    failed = check(1)
    assert not failed.holds
    assert failed.text.count("[") == 4  # three rows, two columns, which is all there can be
    assert check(float("nan")).holds is False


@pytest.mark.parametrize("power", [1.0, 2.0, 4.0])
def test_an_order_is_told_from_the_next(power):
    def error(factor, scale):
        return factor * scale**power

    assert Order(error, power, "x")(1.0).holds
    assert not Order(error, power + 1, "x")(1.0).holds
    assert not Order(error, power, "x")(1e9).holds  # of the right order, and useless
    assert Order(error, 9.0, "x")(0.0).size == "exact"


@pytest.mark.parametrize("kind", KINDS)
def test_instances_are_what_their_kind_says(kind):
    draw = np.random.default_rng(0)
    for _ in range(20):
        m = decoder(draw, kind)
        p, d = m.shape
        assert 2 <= d < p
        values = np.linalg.svd(m, compute_uv=False)
        ratio = values[0] / values[-1]
        gram = m.T @ m
        cosines = gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
        largest = np.abs(cosines - np.eye(d)).max()
        assert {
            "scaled": ratio > 3,
            "parallel": largest > 1 - 1e-6,
            "flat": abs(ratio / 1e7 - 1) < 1e-6,
            "close": 1 < ratio < 1 + 2e-6,
            "equal": ratio < 1 + 1e-12,
            "orthogonal": largest < 1e-12,
        }.get(kind, largest > 1e-3)


def test_rotations_are_orthogonal_and_turn_both_ways():
    draw = np.random.default_rng(0)
    turns = [rotation(draw, 3) for _ in range(50)]
    for turn in turns:
        assert turn @ turn.T == pytest.approx(np.eye(3))
    assert {round(float(np.linalg.det(turn))) for turn in turns} == {-1, 1}


def test_some_claims_by_name():
    told = []
    judgements = ledger(["a-t4", "Z-L1"], told.append)
    assert told == [judgement.entry.id for judgement in judgements] == ["A-T4", "Z-L1"]
    with pytest.raises(ValueError, match="unknown claim 'Z-L99'"):
        ledger(["Z-L99"])
