import enum

class Object:
    kind: str
    logical: int
    os_index: int
    size_bytes: int
    line_bytes: int
    cache_level: int
    cache_content: str
    pus: list[int]
    children: list[Object]

class MemoryNode:
    os_index: int
    size_bytes: int
    subtype: str
    pus: list[int]

class Kind:
    efficiency: int
    pus: list[int]
    infos: list[tuple[str, str]]

class Topology:
    root: Object
    memory_nodes: list[MemoryNode]
    distances: list[list[int]]
    kinds: list[Kind]
    allowed: list[int]
    infos: dict[str, str]
    xml: str

class Source(enum.Enum):
    live = 0
    xml_file = 1
    synthetic = 2

def load_topology(source: Source, text: str = ...) -> Topology: ...
