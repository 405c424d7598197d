"""Words that are not names in the code: ordinary English, acronyms, proper names, and Go's own words.

The list of ordinary words in `data/words.txt` was collected from the comments of Go's standard library. It serves only
to distinguish English words from identifiers; it is not a spelling dictionary.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

GO_WORDS: Final = frozenset(
    """any append bool break byte cap case chan clear close comparable complex complex128 complex64 const continue
    copy default defer delete else error fallthrough false float32 float64 for func go goto if imag import init
    int int16 int32 int64 int8 interface iota len main make map max min new nil package panic print println range
    real recover return rune select string struct switch true type uint uint16 uint32 uint64 uint8 uintptr
    var""".split()
)
"""Keywords and predeclared names, and the two functions that Go itself calls, `init` and `main`."""

ACRONYMS: Final = frozenset(
    """ABI ACL AES AI API APIs ARM ARP ASCII AST AWS BFS BLAKE2b BOM BSD BTree CA CAS CGO CI CIDR CLI CORS CPU CPUs
    CRC CRD CRDs CRL CRUD CSRF CSS CSV DAG DB DDL DFS DHCP DLL DNS DOM DSL DTO EC2 ECDSA ELF EOF ETag FAQ FIFO
    FQDN FTP GC GCP GiB GID GPU GUI GUID HMAC HTML HTML5 HTTP HTTP2 HTTP3 HTTPS IAM ICMP ID IDE IDL IDs IMAP IO IP
    IPC IPs IPv4 IPv6 ISO IV JIT JPEG JSON JWT KB KiB KV LAN LDAP LF LFU LIFO LRU LSM MAC MB MD5 MiB MIME MTU MVC
    NAT NFS NTP NUMA OAuth OAuth2 OCI ODM OIDC OK OOM ORM OS OTP PDF PEM PID PIDs PNG POSIX PR QoS QPS QUIC RAFT
    RAM RBAC REPL REST RFC RGB RNG ROM RPC RPCs RSA RSS RTT RW S3 SAML SDK SFTP SHA SHA1 SHA256 SHA512 SIMD SLA
    SMTP SNI SOAP SPDY SQL SRE SRV SSA SSD SSE SSH SSL STDIN STDOUT TCP TiB TLS TODO TOML TTL TTY TTYs UDP UI UID
    ULID UNIX URI URIs URL URLs USB UTC UTF UTF8 UUID UUIDs VM VMs VPC VPN WAL WASM WSS XML XSS YAML ZIP""".split()
)

PROPER_NAMES: Final = frozenset(
    """Anthropic Apache April August Azure Base64 Bash BigQuery BoltDB CamelCase Cassandra Consul crypto/rand Debian
    December Docker Dockerfile Elasticsearch English etcd Ethereum Excel February Fibonacci FreeBSD Friday Git
    GitHub GitLab Gmail Go Golang Google Grafana GraphQL Greenwich gRPC Gzip Helm Huffman Intel iOS Jaeger January
    Java JavaScript Jenkins July June Kafka Kerberos Kubernetes Lamport Latin LevelDB Linux Lua Mac macOS Makefile
    March Markdown May Merkle Microsoft Minikube Monday MongoDB MySQL NetBSD Nginx Node November October OpenAI
    OpenAPI OpenBSD OpenID OpenSSL OpenTelemetry Oracle Paxos Podman Poisson Postgres PostgreSQL PowerShell
    Prometheus Protobuf Python RabbitMQ Raft README Redis RocksDB Ruby Rust Saturday September Slack SQLite Sunday
    Swagger Swift Systemd Terraform Thrift Thursday Tuesday TypeScript Ubuntu Unicode Unix Vault Vim WebAssembly
    WebSocket WebSockets Wednesday Wi-Fi Windows Wireguard YouTube Zipkin Zsh""".split()
)
"""Names of products, people, months and the like. Outside backticks they do not count as mentions of code."""

PROSE_PAIRS: Final = frozenset(
    """acquire/release acquires/releases add/remove and/or before/after CI/CD client/server create/delete
    create/update either/or enable/disable encode/decode first/last get/set he/she his/her host/port HTTP/1.1
    HTTP/2 HTTP/3 I/O input/output insert/delete key/value Linux/Unix load/store lock/unlock login/logout
    marshal/unmarshal min/max n/a name/value on/off open/close opens/closes parent/child pass/fail
    producer/consumer producers/consumers pub/sub push/pull read/write reader/writer reads/writes request/response
    send/receive source/target SSL/TLS start/stop success/failure TCP/IP TLS/SSL true/false Unix/Linux up/down
    user/password w/o yes/no""".split()
)
"""Words with a slash that are not paths."""


@cache
def ordinary_words() -> frozenset[str]:
    return frozenset(files("golore.summarizers").joinpath("data/words.txt").read_text(encoding="utf-8").split())


def is_ordinary(word: str) -> bool:
    """Whether a lower-case word is in the list, as it is or without a common ending."""
    words = ordinary_words()
    if word in words:
        return True
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 2 and word[: -len(ending)] + replacement in words:
            return True
    return False


_ENDINGS: Final = (
    ("s", ""),
    ("es", ""),
    ("ies", "y"),
    ("ed", ""),
    ("ed", "e"),
    ("d", ""),
    ("ing", ""),
    ("ing", "e"),
    ("er", ""),
    ("er", "e"),
    ("ers", ""),
    ("ers", "e"),
    ("ly", ""),
    ("ness", ""),
    ("less", ""),
    ("able", ""),
    ("ability", "able"),
    ("ation", "e"),
    ("ment", ""),
)
