"""Which files are worth reading: byte strings of which one must stand in a file for any rule to speak about it."""

import re
from collections.abc import Iterable

_FEW = 12
"""Keys of one domain that are sought one by one; of more, the domain alone is sought."""
_MANY = 48
"""Strings that are sought one by one; above, domains are picked out of the text and looked up."""
_COMMON = (".kubernetes.io", ".k8s.io", "kubernetes.io", "k8s.io")
"""Domains that stand in every manifest: keys of theirs are never sought by the domain alone."""
_HIDING = (b"\\x", b"\\u", b"\\U", b"\\/")
"""Escapes that can stand for a character of a needle."""
_FOLDED = re.compile(rb"\\\r?\n[ \t]*")
_ENDS = bytes.maketrans(b"\"'{}[],:=\t\r\n", b" " * 12)


class Needles:
    """The strings of one rule set. Falsy when there are none: then every file is read."""

    def __init__(self, words: Iterable[str]) -> None:
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

    def __bool__(self) -> bool:
        return bool(self._strings or self._domains)

    def stand_in(self, data: bytes) -> bool:
        """Whether a rule may have something to say: a string stands there, or could hide behind an escape or another encoding."""
        if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"!!binary" in data:
            return True
        if b"\\" in data:
            if any(escape in data for escape in _HIDING):
                return True
            # Inside double quotes the two lines are one; in a script it does no harm to read them so.
            data = _FOLDED.sub(b"", data)
        for string in self._strings:
            if string in data:
                return True
        return bool(self._domains) and not self._domains.isdisjoint(_domains(data))


def _shortest(words: Iterable[str]) -> tuple[bytes, ...]:
    """Without those that hold another one."""
    kept: list[bytes] = []
    for word in sorted({word.encode() for word in words}, key=lambda word: (len(word), word)):
        if not any(other in word for other in kept):
            kept.append(word)
    return tuple(kept)


def _domains(data: bytes) -> set[bytes]:
    """What stands before each slash, back to a blank, a quote or a bracket."""
    return {piece.rpartition(b" ")[2] for piece in data.translate(_ENDS).split(b"/")[:-1]}


NO_NEEDLES = Needles(())
