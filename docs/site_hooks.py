"""What `mkdocs build` does beyond Markdown: formulas as MathML, and pages from the top folder.

Formulas are converted when the site is built, so a page needs no script and no network. Markdown
has them as GitHub reads them, with a dollar sign around backticks; docstrings have `.. math::`.
"""

import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from unpick.pages.formula import mathml

HOUSE = Path(__file__).parent.parent
TOP = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}
INLINE = re.compile(r"\$`(.+?)`\$", re.DOTALL)
DIRECTIVE = re.compile(r"^( *)\.\. math:: *(.*(?:\n\1 +\S.*)*)", re.MULTILINE)
MARK = "\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}%s\N{MATHEMATICAL RIGHT WHITE SQUARE BRACKET}"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie in the top folder; the front page is the README."""
    for page, source in TOP.items():
        text = (HOUSE / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=_link_pages(text, "", "")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:  # noqa: ANN401
    """Put a mark in the place of each formula, which Markdown leaves alone, also in tables."""
    if page.file.src_uri not in TOP:
        up = "../" * page.file.src_uri.count("/")
        markdown = _link_pages(markdown, f"../{up}", up)
    markdown = INLINE.sub(lambda found: MARK % found[1].encode().hex(), markdown)
    markdown = markdown.replace("\\\n", "  \n")  # a backslash that ends a line breaks it
    return re.sub(r"\](?= ?\[)", r"\]", markdown)  # rows of a matrix are no reference links


def on_page_content(html: str, **_: Any) -> str:  # noqa: ANN401
    """Replace each mark by its formula; one that is a paragraph of its own is displayed."""
    html = re.sub("<p>" + MARK % "([0-9a-f]+)" + "</p>", MARK % r"block:\1", html)
    return re.sub(MARK % "(block:)?([0-9a-f]+)", _formula, html)


def _formula(found: re.Match[str]) -> str:
    return mathml(bytes.fromhex(found[2]).decode(), "block" if found[1] else "inline")


def _link_pages(markdown: str, top: str, docs: str) -> str:
    """Links to files of the top folder lead to their pages."""
    for page, source in TOP.items():
        markdown = markdown.replace(f"]({top}{source}", f"]({docs}{page}")
    return markdown


class Docstrings(griffe.Extension):
    """Puts the same marks into docstrings, and calls examples by the name that is parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401
        """Rewrite one docstring before it is parsed."""
        if obj.docstring:
            text = DIRECTIVE.sub(_mark, obj.docstring.value)
            obj.docstring.value = re.sub(r"^( *)Example:$", r"\1Examples:", text, flags=re.M)


def _mark(found: re.Match[str]) -> str:
    formula = " ".join(line.strip() for line in found[2].splitlines())
    return found[1] + MARK % f"block:{formula.encode().hex()}" + "\n"
