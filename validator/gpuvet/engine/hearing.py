"""The hearing of one object: its rules run, violations are collected and placed; what hangs on other objects can be resumed."""

from marshal import dumps
from typing import Any, NamedTuple

from gpuvet.engine.context import Context, EmptyContext, Fact
from gpuvet.engine.placing import build_finding
from gpuvet.engine.ruleset import Alike, BoundRule, Entry, Selected
from gpuvet.engine.subject import ObjectScope, Subject
from gpuvet.manifests.document import Document
from gpuvet.values.finding import Finding
from gpuvet.values.path import Path
from gpuvet.values.total import undecided

_NOBODY = EmptyContext()


class Crash(NamedTuple):
    """A rule that failed on a subject: our bug, never the user's."""

    rule: BoundRule
    error: str


class _Charge:
    """A violation, where it stands, and the finding once it is made."""

    __slots__ = ("fact", "finding", "is_open", "path", "rule", "spots", "subject", "there", "violation")

    def __init__(self, rule: BoundRule, subject: Subject, violation: tuple[Any, ...], is_open: bool) -> None:
        self.rule = rule
        self.subject = subject
        self.violation = violation
        self.is_open = is_open
        """The rule asked for objects that are not known, and may judge otherwise once they are."""
        self.path: Path | None
        self.fact: Fact | None
        self.path, self.fact, self.there = subject.locate(violation[0])
        self.spots = _spots(subject, self.path, self.fact, self.there)
        self.finding: Finding | None = None


class Hearing:
    """The rules of one object at work."""

    __slots__ = ("_charges", "_open", "asked", "crashes", "scope")

    def __init__(self, scope: ObjectScope) -> None:
        self.scope = scope
        self.crashes: list[Crash] = []
        self.asked: set[str] = set()
        """Kinds of other objects that were asked for without a certain answer."""
        self._charges: list[_Charge] = []
        self._open: list[tuple[BoundRule, Subject]] = []

    def run(self, selected: Selected, subject: Subject) -> None:
        """Rules on one subject."""
        for alike in selected.alike:
            speaking = self._configured(alike, subject) if alike.part == "configuration" else self._speaking(alike, subject)
            if speaking:
                self._try(speaking, subject)
        if selected.rules:
            self._try(selected.rules, subject)

    def _speaking(self, alike: Alike, subject: Subject) -> tuple[Entry, ...]:
        """The rules that a part of the subject lets say something."""
        try:
            content = dumps(subject.part(alike.part), 2)
        except ValueError:
            return tuple(entry for _, entry in alike.entries)
        speaking = alike.remembered.get(content)
        if speaking is None:
            try:
                speaking = tuple(entry for screen, entry in alike.entries if screen(subject, entry[1]))
            except Exception:  # noqa: BLE001 - found again when the rules run, one by one
                return tuple(entry for _, entry in alike.entries)
            alike.remember(content, speaking)
        return speaking

    def _configured(self, alike: Alike, subject: Subject) -> tuple[Entry, ...]:
        """The rules that the effective configuration lets say something, which Pods of the same configuration have in common."""
        remembered = subject.resolver().remembered
        known = remembered.get(alike)
        if known is None:
            known = remembered[alike] = self._heard(alike, subject)
        for rule, asked in known[1]:
            self._open.append((rule, subject))
            self.asked |= asked
        return known[0]

    def _heard(self, alike: Alike, subject: Subject) -> tuple[tuple[Entry, ...], tuple[tuple[BoundRule, frozenset[str]], ...]]:
        """Those rules, and of the others those that other objects may still let speak, with the kinds of these."""
        speaking: list[Entry] = []
        silent: list[tuple[BoundRule, frozenset[str]]] = []
        asked = self.scope.asked
        for screen, entry in alike.entries:
            try:
                speaks = screen(subject, entry[1])
            except Exception:  # noqa: BLE001 - found again when the rule runs
                speaks = True
            if speaks:
                speaking.append(entry)
            elif asked:
                silent.append((entry[2], frozenset(asked)))
            asked.clear()
        return tuple(speaking), tuple(silent)

    def _try(self, entries: tuple[Entry, ...], subject: Subject) -> None:
        scope = self.scope
        for screen, parameters, rule in entries:
            try:
                if not screen(subject, parameters):
                    if scope.asked:
                        self._note(rule, subject)
                    continue
                found: list[tuple[Any, ...]] = []
                rule.function(subject, parameters, found.append)
            except Exception as error:  # noqa: BLE001
                found = []
                self._crashed(rule, error)
            is_open = bool(scope.asked)
            if is_open:
                self._note(rule, subject)
            for violation in found:
                if not undecided(violation[-1], subject.fragment):
                    try:
                        self._charges.append(_Charge(rule, subject, violation, is_open))
                    except Exception as error:  # noqa: BLE001
                        self._crashed(rule, error)
            scope.asked.clear()

    def _note(self, rule: BoundRule, subject: Subject) -> None:
        """Notes that a rule hangs on objects that are not known."""
        self._open.append((rule, subject))
        self.asked |= self.scope.asked
        self.scope.asked.clear()

    def findings(self) -> list[Finding]:
        """What the violations come to: those that another finding supersedes are dropped, and each is said once."""
        if not self._charges:
            return []
        shadowed = {(other, spot) for charge in self._charges for other in charge.rule.info.supersedes for spot in charge.spots}
        found: dict[Any, Finding] = {}
        for charge in self._charges:
            if shadowed and any((charge.rule.info.id, spot) in shadowed for spot in charge.spots):
                continue
            if charge.finding is None:
                try:
                    charge.finding = build_finding(charge.rule, charge.subject, charge.violation, charge.path, charge.fact, charge.there)
                except Exception as error:  # noqa: BLE001
                    self._crashed(charge.rule, error)
                    continue
            finding = charge.finding
            found.setdefault((finding.rule, finding.location, finding.message), finding)
        return list(found.values())

    def park(self, document: Document) -> None:
        """Lets go of the text until other objects are known; `document` reads it again when a place in it is asked for."""
        scope = self.scope
        scope.document, scope.context = document, _NOBODY
        scope.found = {key: fact._replace(document=None) for key, fact in scope.found.items()}
        for charge in self._charges:
            if charge.fact is not None:
                charge.fact = charge.fact._replace(document=None)

    def resume(self, context: Context) -> list[Finding]:
        """The findings now that other objects are known. Only rules that asked for them run again."""
        self.scope.context = context
        self.scope.renew()
        before = [charge for charge in self._charges if charge.is_open]
        self._charges = [charge for charge in self._charges if not charge.is_open]
        again, self._open = self._open, []
        self.crashes = []
        for _, subject in again:
            subject.forget()
        for rule, subject in again:
            self._try(((rule.screen, rule.parameters, rule),), subject)
        for charge in self._charges:
            # A finding that stays the same need not be placed again, which would mean to read the file again.
            if charge.finding is None:
                charge.finding = next((old.finding for old in before if _same(old, charge)), None)
        findings = self.findings()
        self.close()
        return findings

    def close(self) -> None:
        """Ends it: what the rules worked out holds on to the object and is held by it, which only a collector would free."""
        self.scope.renew()

    def _crashed(self, rule: BoundRule, error: Exception) -> None:
        self.crashes.append(Crash(rule, f"{type(error).__name__}: {error}"))


def _same(old: _Charge, new: _Charge) -> bool:
    """Whether two violations make the same finding, whatever the context says."""
    if old.rule is not new.rule or old.subject is not new.subject or new.path is None or old.path != new.path:
        return False
    *_, related, fix, _ = new.violation
    places = [place for place, _ in related] + [place for _, place, _ in (fix[2] if fix is not None else ())]
    return all(place[0] in ("self", "pod", "object") for place in places) and bool(old.violation == new.violation)


def _spots(subject: Subject, path: Path | None, fact: Fact | None, there: Path) -> list[Any]:
    """The place of a violation, and the same annotation, label or resource key anywhere in the same Pod template or object."""
    if path is None:
        return [(fact.identity if fact is not None else None, there)]
    template = subject.view.name if subject.view is not None else ""
    # Only such keys say what they are about: an index, or a field like `value`, is the same in unrelated lists.
    return [path, (template, path[-1])] if path and type(path[-1]) is str and "/" in path[-1] else [path]
