"""Reads what a page shows."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tables as lists of rows of texts, links, anchors, pictures."""

    def __init__(self, file):
        super().__init__()
        self.rows, self.links, self.ids, self.images, self.inside = [], [], [], [], False
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        self.images += [given["src"]] if tag == "img" else []
        assert tag not in ("script", "link", "iframe")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data
