"""Which files are worth reading: byte strings of which one must stand in a file for any rule to speak about it."""

import re
from collections.abc import Iterable

_FEW = 12
"""Keys of one domain that are sought one by one; of more, the domain alone is sought."""
_MANY = 48
"""Strings that are sought one by one; above, domains are picked out of the text and looked up."""
_COMMON = (".kubernetes.io", ".k8s.io", "kubernetes.io", "k8s.io")
"""Domains that stand in every manifest: keys of theirs are never sought by the domain alone."""
_HIDING = (b"x", b"u", b"U", b"/")
"""Escapes that can stand for a character of a needle."""
_ENDINGS = (b"\n", b"\r")
_ENDS = bytes.maketrans(b"\"'{}[],:=\t\r\n", b" " * 12)


class Needles:
    """The strings of one rule set. Falsy when there are none: then every file is read."""

    def __init__(self, words: Iterable[str], objects: Iterable[tuple[str, str]] = ()) -> None:
        """`objects` are kind and name of single objects that are sought as well."""
        self._objects = [(kind.encode(), name.encode()) for kind, name in objects]
        by_domain: dict[str, list[str]] = {}
        plain: list[str] = []
        for word in words:
            domain, slash, _ = word.rpartition("/")
            if slash and not domain.endswith(_COMMON):
                by_domain.setdefault(domain, []).append(word)
            else:
                plain.append(word)
        whole = {domain for domain, keys in by_domain.items() if len(keys) > _FEW}
        single = [key for domain, keys in by_domain.items() if domain not in whole for key in keys]
        self._domains: frozenset[bytes] = frozenset()
        if len(plain) + len(single) + len(whole) > _MANY:
            self._domains = frozenset(domain.encode() for domain in by_domain)
            single, whole = [], set()
        self._strings = _shortest([*plain, *single, *(f"{domain}/" for domain in whole)])
        named = [word for pair in self._objects for word in pair]
        self._longest = max((len(string) for string in (*self._strings, *self._domains, *named)), default=0) + _BEFORE

    def __bool__(self) -> bool:
        return bool(self._strings or self._domains or self._objects)

    def stand_in(self, data: bytes) -> bool:
        """Whether a rule may have something to say: a string stands there, or could hide behind an escape or another encoding."""
        if self._stand_in(data) or data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"!!binary" in data:
            return True
        if b"\\" not in data:
            return False
        seams = self._seams(data)
        return seams is None or self._stand_in(seams)

    def _stand_in(self, data: bytes) -> bool:
        strings = self._strings
        for place, string in enumerate(strings):
            if string in data:
                if place:
                    # What files of this run hold is looked for first.
                    strings.insert(0, strings.pop(place))
                return True
        if any(name in data and kind in data and _is_name(name, data) for kind, name in self._objects):
            return True
        return bool(self._domains) and not self._domains.isdisjoint(_domains(data))

    def _seams(self, data: bytes) -> bytes | None:
        """What stands around each backslash that ends a line, which in double quotes joins two lines; in a script that does no harm.

        None when another escape can stand for anything.
        """
        around = self._longest
        first, *others = data.split(b"\\")
        seams = [first[-around:]]
        for other in others:
            if other[:1] in _HIDING:
                return None
            joined = other.lstrip(b"\r\n \t") if other[:1] in _ENDINGS else b"\0" + other
            seams.append(joined if len(joined) < 2 * around else joined[:around] + b"\0" + joined[-around:])
        return b"".join(seams)


def _shortest(words: Iterable[str]) -> list[bytes]:
    """Without those that hold another one."""
    kept: list[bytes] = []
    for word in sorted({word.encode() for word in words}, key=lambda word: (len(word), word)):
        if not any(other in word for other in kept):
            kept.append(word)
    return kept


def _domains(data: bytes) -> set[bytes]:
    """What stands before each slash, back to a blank, a quote or a bracket."""
    return {piece.rpartition(b" ")[2] for piece in data.translate(_ENDS).split(b"/")[:-1]}


_BEFORE = 100
"""Bytes before a name that tell whether it is one."""
_NAMED = re.compile(rb"""(\bname\b[^A-Za-z0-9]{1,80}|[&!]\S*\s+["']?|#[^\n]*\n\s*["']?)\Z""")
"""The key `name`, with whatever YAML allows in between; or an anchor, a tag or a comment, behind which anything may be meant."""


def _is_name(name: bytes, data: bytes) -> bool:
    """Whether a text stands somewhere as the value of a key `name`."""
    place = data.find(name)
    while place >= 0:
        if _NAMED.search(data[max(0, place - _BEFORE) : place]):
            return True
        place = data.find(name, place + 1)
    return False


NO_NEEDLES = Needles(())
