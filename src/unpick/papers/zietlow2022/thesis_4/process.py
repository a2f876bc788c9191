"""Figure 4.2 of Zietlow (2022): how the change of the data is made, as boxes and arrows."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from unpick.data.sprites import render
from unpick.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE
from unpick.study.study import Results

FROZEN, TRAINED = GREY, GREEN  # networks that stay as they are, and those that are trained
SHOWN = np.array([[2, 5, 3, 12, 18]])  # the sprite that stands for x


@dataclass(frozen=True)
class Box:
    """A box of the figure: its centre, text and colour."""

    x: float
    y: float
    text: str
    colour: str
    width: float = 1.5

    def draw(self, axes: Axes) -> None:
        """Draw it."""
        corner = (self.x - self.width / 2, self.y - 0.42)
        axes.add_patch(
            FancyBboxPatch(
                corner,
                self.width,
                0.84,
                boxstyle="round,pad=0.02,rounding_size=0.12",
                facecolor=self.colour,
                alpha=0.22,
                edgecolor=self.colour,
            )
        )
        axes.text(self.x, self.y, self.text, ha="center", va="center")


ENTANGLED, DISENTANGLED = 3.7, 0.9  # heights of the two models
FACTORS = Box(0.7, 2.3, "factors\n$w$", BLACK, 1.1)
CHANGE = Box(5.3, 2.3, "$m_\\psi(w)$", TRAINED)
BOXES = (
    FACTORS,
    CHANGE,
    *(
        Box(x, y, f"{kind}\n({name})", colour)
        for y, name in ((ENTANGLED, "entangled"), (DISENTANGLED, "disentangled"))
        for x, kind, colour in ((4.3, "encoder", FROZEN), (7.0, "decoder", TRAINED))
    ),
)
ARROWS = (
    ((1.3, 2.3), (1.95, 2.3)),  # factors to image
    ((3.05, 2.75), (3.5, ENTANGLED - 0.25)),  # image to encoders
    ((3.05, 1.85), (3.5, DISENTANGLED + 0.25)),
    ((5.1, ENTANGLED), (6.2, ENTANGLED)),
    ((5.1, DISENTANGLED), (6.2, DISENTANGLED)),
    ((7.8, ENTANGLED), (8.75, ENTANGLED)),
    ((7.8, DISENTANGLED), (8.75, DISENTANGLED)),
    ((6.1, 2.3), (8.75, 2.3)),  # the change to the changed image
    ((9.6, 2.65), (9.6, ENTANGLED - 0.42)),
    ((9.6, 1.95), (9.6, DISENTANGLED + 0.42)),
)


def draw_process(results: Results) -> Figure:
    """Figure 4.2."""
    figure = Figure(figsize=(8.8, 4.0), layout="constrained")
    axes = figure.subplots()
    for box in BOXES:
        box.draw(axes)
    look = {"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.1}
    for start, end in ARROWS:
        axes.annotate("", end, start, arrowprops=look)
    below = {**look, "connectionstyle": "arc3,rad=0.28"}  # the image
    axes.annotate("", (4.53, 2.2), (1.0, 1.85), arrowprops=below)
    image = axes.inset_axes((2.0, 1.72, 1.0, 1.16), transform=axes.transData)
    image.imshow(render(SHOWN, 32)[0].squeeze(), cmap="gray", vmin=0, vmax=1)
    image.set_xticks([])
    image.set_yticks([])
    axes.text(2.5, 3.0, "image $x$", ha="center", va="bottom")
    axes.text(9.6, 2.3, "$x' = x + \\epsilon\\, m_\\psi(w)$", ha="center", va="center")
    for y, name, colour, way in (
        (ENTANGLED, "ent", BLUE, "smaller"),
        (DISENTANGLED, "dis", ORANGE, "larger"),
    ):
        axes.text(5.65, y + 0.12, f"$z_{{{name}}}$", ha="center", va="bottom")
        loss = f"$L_{{rec}}^{{{name}}}(x', z)$\n$m_\\psi$ makes it {way}"
        axes.text(9.6, y, loss, ha="center", va="center", color=colour)
    for x, colour, name in ((3.6, FROZEN, "frozen"), (6.4, TRAINED, "trained")):
        axes.text(x, -0.1, f"\N{BLACK SQUARE} {name}", color=colour, ha="center", va="center")
    axes.set(xlim=(0, 10.9), ylim=(-0.3, 4.4), aspect="equal")
    axes.set_axis_off()
    return figure
