"""Images from chosen principal axes (Bhowal et al. 2024, appendix A.8.6, table 7, figure 5)."""

from functools import partial

from unpick.papers.bhowal2024.pca import claims
from unpick.papers.bhowal2024.pca.claims import on_survey
from unpick.papers.bhowal2024.pca.figures import draw_heart, draw_table
from unpick.papers.bhowal2024.pca.readings import compute_survey
from unpick.papers.bhowal2024.pca.table import tabulate_errors
from unpick.study.study import Claim, Drawing, Study

STUDY = Study(
    name="bhowal-pca",
    title="Images from chosen principal axes",
    source="Bhowal et al. (2024), appendix A.8.6, table 7 and figure 5",
    about="""PCA of 5000 sprites of 64 x 64 pixels, drawn at random. Of the 4096 axes about a
third have no variance, since no sprite reaches the corners. Nothing is trained. Errors are
squared, summed over pixels, mean over images. The paper says neither its unit nor its images, and
no code for this experiment was released, so its numbers are compared up to one factor.

The printed errors add up as those of projections must: the errors of no axes at all that follow
from 2000 to 3000 (24.20) and from 2500 to 3000 (23.51) agree to 3 %. But they do not belong to
principal axes in order of their variance. In falling order 1500 axes leave less than a hundredth
of the variance, and a picture that nobody could tell from the original. In rising order, in which
usual routines return eigenvectors, even 3000 axes leave it all but blank. By table 7 the first
1500 hold little, the next 1500 nearly all, and the last 1096 nothing again.

Pixels in reading order have that pattern, since sprites lie in the middle rows: 1500 pixels are
the upper 23 rows, 3000 the upper 47. They also give what figure 5 is said to show: a blank
picture, then position with parts of the shape, then nearly all of it, and a slice without
position. One gets them by encoding with all axes and then cutting the matrix of axes along its
rows, which are pixels, instead of its columns. This is our reading; the authors do not say it.

We say that axes capture a factor if it can be predicted from the coordinates on them.
(Orientation is left out: it is an angle, and for a square known up to a quarter turn.) That is
less than being visible. The position can be predicted from every set, since even axes without a
visible effect change an image where the sprite is. The paper judges by pictures, so the last two
sets are also judged by whether one would see anything: by a tenth of the variance, which is what
a blank image may have.""",
    claims=(
        Claim(
            "The error falls as more axes are added.",
            on_survey(claims.more_axes),
        ),
        Claim(
            "It rises fast when the first axes, of high variance, are left out.",
            on_survey(claims.without_first),
        ),
        Claim(
            "The components of highest variance belong to the factors that matter most for the "
            "reconstruction.",
            on_survey(claims.important_first),
        ),
        Claim(
            "The reconstruction from the first 1500 axes is blank.",
            on_survey(claims.blank),
        ),
        Claim(
            "The first 1500 axes hold the position and not the shape.",
            on_survey(claims.only_position),
        ),
        Claim(
            "Axes 1500 to 2500 capture the position.",
            on_survey(claims.middle_position),
        ),
        Claim(
            "Axes 2500 to 3000 do not capture the position.",
            on_survey(claims.no_late_position),
        ),
        Claim(
            "The same two, read as what one sees: axes 1500 to 2500 show something.",
            on_survey(partial(claims.in_sight, "1500 to 2500")),
        ),
        Claim(
            "And axes 2500 to 3000 show nothing, so no position either.",
            on_survey(partial(claims.out_of_sight, "2500 to 3000")),
        ),
        Claim(
            "As printed: table 7 has its axes in order of falling variance.",
            lambda results: claims.falling_order(),
        ),
        Claim(
            "Our reading: pixels in reading order come closer to table 7, by half or more, than "
            "principal axes in either order.",
            on_survey(claims.pixel_order),
        ),
    ),
    drawings=(
        Drawing(
            "reconstructions",
            "A heart from chosen axes",
            "After figure 5. Above: axes in order of falling variance; 1500 of them are enough. "
            "Middle: in order of rising variance, everything but the mean image is missing. "
            "Below: pixels in place of axes, which looks as the paper describes its figure: blank "
            "at first (but for the mean image), then parts of the shape, and a slice at the end.",
            draw_heart,
        ),
        Drawing(
            "table",
            "Table 7, and three readings of it",
            "Bars: errors as printed. Marks: errors of sprites, each order in the unit that fits "
            "best (numbers in the table above). Principal axes in either order are far off; "
            "pixels in reading order follow the bars.",
            draw_table,
        ),
    ),
    computed={"survey": compute_survey},
    tables=tabulate_errors,
)
