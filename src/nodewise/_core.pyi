def hwloc_version() -> str: ...

class TopologyError(Exception): ...

class Object:
    kind: str
    logical: int
    os_index: int
    size_bytes: int
    pus: list[int]
    children: list[Object]

class Cache:
    level: int
    content: str
    size_bytes: int
    line_bytes: int
    pus: list[int]

class NumaNode:
    os_index: int
    size_bytes: int
    subtype: str
    bandwidth_mib_s: int
    latency_ns: int
    pus: list[int]

class CoreKind:
    efficiency: int
    pus: list[int]
    infos: dict[str, str]

class Device:
    name: str
    kind: str
    bus: str
    model: str
    pus: list[int]

class Description:
    tree: Object
    caches: list[Cache]
    numa_nodes: list[NumaNode]
    distances: list[list[int]]
    kinds: list[CoreKind]
    devices: list[Device]
    infos: dict[str, str]
    allowed: list[int]

class Topology:
    @staticmethod
    def live(devices: bool = True) -> Topology: ...
    @staticmethod
    def from_xml(path: str) -> Topology: ...
    @staticmethod
    def from_synthetic(text: str) -> Topology: ...
    def describe(self) -> Description: ...
    def xml(self) -> str: ...
