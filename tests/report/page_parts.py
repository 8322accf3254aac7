"""Reads a page as a browser would: elements with attributes, texts by class, data blocks."""

import json
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "img", "path"}


class Page(HTMLParser):
    """All elements of a page, and the text inside each."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements = []  # (tag, attributes, list of texts)
        self._open = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        element = (tag, dict(attrs), [])
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag):
        while self._open and tag not in _VOID:
            if self._open.pop()[0] == tag:
                break

    def handle_data(self, data):
        for element in self._open:
            element[2].append(data)

    def with_class(self, name):
        return [
            (attributes, "".join(texts))
            for _, attributes, texts in self.elements
            if name in (attributes.get("class") or "").split()
        ]

    def tags(self):
        return {tag for tag, _, _ in self.elements}

    def data(self):
        """Return the JSON block of each section by its name."""
        return {
            attributes["id"].removesuffix("-data"): json.loads("".join(texts))
            for tag, attributes, texts in self.elements
            if tag == "script"
        }
