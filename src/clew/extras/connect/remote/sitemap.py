"""Read the pages listed in a site's sitemap: sitemap+https://host, or the sitemap's URL.

`robots.txt` says where the sitemap is, if the address does not, which pages may be fetched, and how
long to wait between two. Pages of other hosts are not fetched, and not more than the limits allow.
"""

import time
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import SplitResult, urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser
from xml.etree.ElementTree import Element

from clew.base.display.addresses import hide_secrets
from clew.base.types import Skipped
from clew.errors import UnreadableSource
from clew.extras.connect.remote.web import fetch_bytes, is_public
from clew.readers.remote import Entry, RemotePlace, to_seconds
from clew.readers.xml_page import parse_xml

_AGENT = "clew"
_MOST_MAPS = 1_000
_LONGEST_DELAY = 10  # seconds
_MISSING = ("status 404", "status 410")


class _Site:
    """A rate-limited and size-limited client for one site."""

    def __init__(self, place: RemotePlace, robots: RobotFileParser) -> None:
        self._place = place
        self._delay = min(int(robots.crawl_delay(_AGENT) or 0), _LONGEST_DELAY)
        self._next = 0.0
        self._n_bytes = 0

    def fetch(self, page: str, path: Path) -> Path:
        """Download a page to a file with the suffix of its format; return the file."""
        limits = self._place.limits
        if self._n_bytes > limits.site_bytes:
            raise UnreadableSource(page, f"its site has {limits.more_than('site_bytes', 'bytes')}")
        time.sleep(max(0.0, self._next - time.monotonic()))
        data, suffix = fetch_bytes(page, limits)
        self._next = time.monotonic() + self._delay
        self._n_bytes += len(data)
        path = path.with_suffix(suffix)
        path.write_bytes(data)
        return path


def list_entries(place: RemotePlace) -> Iterator[Entry | Skipped]:
    """Yield the pages of the sitemap in order; the URL is the id.

    Raises UnreadableSource where there is no sitemap, `robots.txt` cannot be read, or the sitemap
    has more pages than the limit, after those within it.
    """
    address = urldefrag(place.address.partition("+")[2]).url
    parts = urlsplit(address)
    robots = _read_robots(place, address)
    is_map = parts.path.strip("/") != ""
    maps = [address] if is_map else robots.site_maps() or [urljoin(address, "/sitemap.xml")]
    site = _Site(place, robots)
    pages: dict[str, str] = {}
    for page, modified in _list_pages(place, maps):
        if _split(page).netloc == parts.netloc and robots.can_fetch(_AGENT, page):
            pages[page] = modified
        if len(pages) > place.limits.pages:
            break
    today = datetime.now(UTC).date().isoformat()  # a page may change again and have the same day
    for page, modified in islice(pages.items(), place.limits.pages):
        yield Entry(
            id=hide_secrets(page),
            below=urlsplit(page).path.strip("/") or "index",
            suffix=".html",
            fetch=partial(site.fetch, page),
            fingerprint="" if modified[:10] >= today else modified,
            modified=to_seconds(modified),
        )
    if len(pages) > place.limits.pages:
        raise UnreadableSource(place.id, f"lists {place.limits.more_than('pages')}")


def _read_robots(place: RemotePlace, address: str) -> RobotFileParser:
    robots = RobotFileParser()
    try:
        data, _ = fetch_bytes(urljoin(address, "/robots.txt"), place.limits)
    except UnreadableSource as error:
        if not error.reason.endswith(_MISSING):
            raise
        data = b""
    try:
        robots.parse(data.decode("utf-8", "replace").splitlines())
    except ValueError as error:  # of a number that is none
        raise UnreadableSource(place.id, f"has a robots.txt with an error: {error}") from None
    return robots


def _split(address: str) -> SplitResult:
    """Return the parts of a web address, all empty for other addresses."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return urlsplit("")
    return parts if parts.scheme in {"http", "https"} else urlsplit("")


def _list_pages(place: RemotePlace, maps: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the pages of sitemaps and of the sitemaps they refer to, with their last changes."""
    waiting, seen = deque(maps), set[str]()
    while waiting:
        address = waiting.popleft()
        if address in seen:
            continue
        seen.add(address)
        if len(seen) > _MOST_MAPS:
            raise UnreadableSource(place.id, f"has more than {_MOST_MAPS:,} sitemaps")
        _check_host(place, address)
        root = _read_map(address, place)
        for each in root:
            values = {child.tag: (child.text or "").strip() for child in each}
            if each.tag == "sitemap" and values.get("loc"):
                waiting.append(values["loc"])
            elif each.tag == "url" and values.get("loc"):
                yield values["loc"].partition("#")[0], values.get("lastmod", "")


def _check_host(place: RemotePlace, address: str) -> None:
    """Raise UnreadableSource for a sitemap without a web address, or in a private network."""
    host, own = _split(address).netloc, urlsplit(place.address.partition("+")[2]).netloc
    if not host or not (host == own or is_public(_split(address).hostname or "")):
        shown = hide_secrets(address)
        raise UnreadableSource(place.id, f"names a sitemap that is not fetched: {shown!r:.99}")


def _read_map(address: str, place: RemotePlace) -> Element:
    data, _ = fetch_bytes(address, place.limits)
    try:
        if data.startswith(b"\x1f\x8b"):
            data = zlib.decompressobj(31).decompress(data, place.limits.received_bytes)
        root = parse_xml(data)
    except (ValueError, zlib.error) as error:
        raise UnreadableSource(address, f"is no sitemap: {error}") from None
    if root.tag not in {"urlset", "sitemapindex"}:
        raise UnreadableSource(address, "is no sitemap")
    return root
