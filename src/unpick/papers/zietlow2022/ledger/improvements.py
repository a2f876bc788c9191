"""Small steps that improve an inequality that is not tight (Zietlow 2022, section 5.1)."""

from unpick.study.ledger.column_checks import SMALLER_MEAN, SMALLER_PRODUCT
from unpick.study.ledger.entry import Entry, Mutation

IMPROVING_MEANS = Entry(
    id="Z-L4",
    source="Zietlow (2022), lemma 4 (eq. 5.22 to 5.24)",
    title="Unequal numbers can be moved to a smaller mean",
    statement="If non-negative numbers are not all equal, an arbitrarily small change lowers "
    "their arithmetic mean and keeps their product.",
    formula=r"a_i' = a_i / (1 + \delta), \quad a_j' = a_j (1 + \delta)",
    assumptions=r"$a_i > a_j \geq 0$, $\delta > 0$ small.",
    printed=lambda high, low, t: (high / (1 + t), low * (1 + t)),
    check=SMALLER_MEAN,
    mutation=Mutation(
        "the same amount is taken from one and given to the other",
        lambda high, low, t: (high - t * low, low + t * low),
    ),
    remark="Zeros do no harm: with $a_j = 0$ the product is 0 before and after, and the mean "
    "falls.",
)

IMPROVING_COLUMNS = Entry(
    id="Z-L5",
    source="Zietlow (2022), lemma 5 (eq. 5.25 to 5.27)",
    title="Oblique columns can be turned to a smaller product",
    statement=r"If the columns of a non-singular $M = U \Sigma V^\top$ are not orthogonal, an "
    r"arbitrarily small change of $V$ makes the product of their lengths smaller.",
    formula=r"\prod_i \|c_i\| > \prod_i \|c_i'\|, \quad M' = U \Sigma V'^\top",
    assumptions="$M$ square, non-singular, columns not orthogonal.",
    printed=lambda v, turn: turn @ v,
    check=SMALLER_PRODUCT,
    mutation=Mutation(
        "the turn on the other side, V' = V R, as the published proof writes it",
        lambda v, turn: v @ turn,
    ),
    remark="The lemma stands; its proof writes $V' = V R$, which turns two singular directions "
    "and changes all columns. $V' = R V$ turns the two columns that are meant. If they are "
    "equally long the slope is zero and every small turn helps at second order: a saddle.",
)

ENTRIES = (IMPROVING_MEANS, IMPROVING_COLUMNS)
