import numpy as np
import pytest
import torch

from unpick.data import ArrayStore, Dataset, Factor
from unpick.pages import Note, Picture, Table, write_page
from unpick.plots import contact_sheet, image_grid, latent_squares


def test_a_contact_sheet_shows_each_factor_in_its_row():
    """Images whose grey value is their index: the sheet must show the right ones in order."""
    factors = (Factor("a", (0.0, 1.0, 2.0)), Factor("b", (0.0, 1.0, 2.0, 3.0)))
    images = (torch.arange(12.0) / 12)[:, None, None, None].expand(12, 1, 2, 2).contiguous()
    figure = contact_sheet(Dataset("toy", ArrayStore(images), factors), columns=4)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"] + ["random"] * 3
    shown = (12 * np.asarray(axes.images[0].get_array())[1::4, 1::4]).round().astype(int)
    a, b = np.divmod(shown, 4)
    assert a[0].tolist() == [0, 1, 1, 2]
    assert b[1].tolist() == [0, 1, 2, 3]
    assert len({*b[0]}) == len({*a[1]}) == 1  # the other factor stays


def test_grids_keep_rows_columns_and_colours():
    images = torch.rand(2, 3, 3, 4, 4)
    picture = np.asarray(image_grid(images, ["x", "y"]).axes[0].images[0].get_array())
    assert picture.shape == (2 * 6, 3 * 6, 3)
    expected = images[1, 2].permute(1, 2, 0).numpy()
    assert picture[7:11, 13:17] == pytest.approx(expected)


def test_latent_squares_draw_lines_along_both_factors():
    square = torch.rand(20_000, 2, generator=torch.Generator().manual_seed(0))
    figure = latent_squares({"same": square[None]}, square)
    lines = figure.axes[0].lines
    assert len(lines) == 18
    spans = [np.ptp(np.asarray(line.get_data()), axis=1) for line in lines]
    assert all(span[0] > 0.9 and span[1] < 0.01 for span in spans[:9])  # the first factor varies
    assert all(span[1] > 0.9 and span[0] < 0.01 for span in spans[9:])


def test_the_page_escapes_what_it_is_given(tmp_path):
    table = Table("c", ("name", "value"), (("<b>", "1"), ("", "2")))
    page = write_page(
        tmp_path, "t", [Note("p")], [table], [Picture("x.png", "pic", "cap")], "unpick x"
    )
    text = page.read_text()
    assert "&lt;b&gt;" in text
    assert 'src="x.png"' in text
    assert "http" not in text  # nothing is loaded from elsewhere
