"""A model as a tree of nodes: what CRDs, JSON Schemas and editor schemas are printed from."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import BaseModel

from gpuvet.models.members import members, root_member, structures
from gpuvet.models.relations import Relation
from gpuvet.models.structures import Member, Structure


@dataclass
class Node:
    """One value of an object and what stands below it."""

    member: Member
    properties: dict[str, "Node"] = field(default_factory=dict)
    item: "Node | None" = None
    """Of a list its items, of a map its values."""
    relations: tuple[Relation, ...] = ()

    @property
    def required(self) -> list[str]:
        """Members that must be there, in the order of their declaration."""
        return [name for name, node in self.properties.items() if node.member.required or node.member.needed]

    def walk(self, path: str = "") -> Iterator[tuple[str, "Node"]]:
        """The node and everything below it by path pattern."""
        yield path, self
        for name, node in self.properties.items():
            yield from node.walk(f"{path}.{name}" if path else name)
        if self.item is not None:
            yield from self.item.walk(path + "[]" if self.member.type == "list" else f"{path}.*" if path else "*")


def tree_of(model: type[BaseModel]) -> Node:
    """The tree of a structure, or of what a JSON or YAML text holds."""
    table = dict(members(model))
    root = Node(root_member(model))
    nodes = {"": root}
    for path, member in table.items():
        node = nodes[path] = Node(member)
        if path.endswith("[]"):
            nodes[path[:-2]].item = node
        else:
            parent, _, name = path.rpartition(".")
            if name == "*":
                nodes[parent].item = node
            else:
                nodes[parent].properties[name] = node
    for path, part in structures(model):
        if issubclass(part, Structure):
            nodes[path].relations = part.relations
    return root
