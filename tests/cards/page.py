"""What a browser would see of a card."""

from html.parser import HTMLParser

HOSTILE = "<img src=x onerror=alert(1)>&amp;\"'<script>"


class Page(HTMLParser):
    """Tags, attributes, words; complains of tags that are not closed."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.words, self.attributes = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("input", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def formulas(self):
        """The LaTeX of the formulas."""
        return [value for key, value in self.attributes if key == "alttext"]

    @property
    def text(self):
        return " ".join(self.words)
