"""Features and settings that do not fit are refused with a sentence: no crash, no wait for ever, no wrong numbers."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

import hypergnn as hg
from hypergnn.loader.features import rows_of
from hypergnn.persistence import scratch
from hypergnn.structures.sparse_features import SparseFeatures

H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [3, 4, 5]], n_vertices=6)
X = torch.rand(6, 8, generator=torch.Generator().manual_seed(0))
TWO = [(1, 1), (1, 1)]


def damaged_csr(kind=sparse.csr_array):
    matrix = kind(np.eye(6, 8, dtype=np.float32))
    matrix.indptr[2] = -(10**8)
    return matrix


def damaged_tensor():
    crow = torch.tensor([0, 1, -(10**8), 3, 4, 5, 6])
    return torch.sparse_csr_tensor(crow, torch.arange(6), torch.ones(6), (6, 8), check_invariants=False)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse_matrices_that_lead_outside_of_their_arrays_are_refused_everywhere(kind):
    x = damaged_csr(kind)
    calls = [
        lambda: rows_of(x),
        lambda: SparseFeatures.from_scipy(damaged_csr()),
        lambda: hg.construct.from_knn(x, k=2),
        lambda: hg.Hypergraph.from_scipy(x),
        lambda: hg.HypergraphClassifier().fit(x, [0, 1] * 3),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="must be a valid sparse matrix"):
            call()


def test_sparse_tensors_that_lead_outside_of_their_arrays_are_refused():
    for call in (rows_of, lambda x: hg.construct.from_knn(x, k=2)):
        with pytest.raises(ValueError, match="must be a valid sparse matrix"):
            call(damaged_tensor())


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.empty(6, 8, device="meta"), "must have values"),
        (torch.nested.nested_tensor([torch.ones(1, 8)] * 6, layout=torch.jagged), "rectangular"),
        (torch.ones(6, 8).to(torch.float8_e4m3fn), "type that NumPy has"),
        (torch.ones(6, 8, dtype=torch.complex64).conj(), "must hold numbers"),
        (sparse.csr_array(np.ones((6, 8), complex)), "must hold numbers"),
    ],
)
def test_tensors_without_plain_numbers_are_refused(x, message):
    with pytest.raises(TypeError, match=message):
        rows_of(x)


def test_a_negated_view_gives_its_numbers():
    view = torch.complex(torch.zeros(6, 8), X).conj().imag
    assert view.is_neg()
    torch.testing.assert_close(rows_of(view).take(np.arange(6)), -X)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04",
        b"\x80\x04]q\x00.",
        b"\x93NUMPY\x01\x00\x10\x00" + b"[" * 15 + b"\n",
        b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f8', 'fortran_order': False, 'shape': (6, 99999999999999999999999)}\n",
        b"\x93NUMPY\x01\x00\x46\x00{'descr': '|O', 'fortran_order': False, 'shape': (6, 8), }                     \n",
    ],
)
def test_damaged_array_files_are_refused(content, tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"is damaged or not an \.npy file"):
        rows_of(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("ending", ["npy", "safetensors", "parquet"])
def test_a_pipe_is_refused_and_not_waited_for(ending, tmp_path):
    path = tmp_path / f"x.{ending}"
    os.mkfifo(path)
    with pytest.raises(OSError, match="must be a regular file"):
        rows_of(path)
    if ending == "safetensors":
        for load in (hg.load, hg.Hypergraph.load):
            with pytest.raises(OSError, match="must be a regular file"):
                load(path)


def test_a_parquet_file_with_two_columns_of_a_name_is_refused_by_its_type(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.Table.from_arrays([pyarrow.array([1.0]), pyarrow.array(["a"])], names=["a", "a"])
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"numbers only.*'a' of type string"):
        rows_of(tmp_path / "x.parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "y.parquet").write_bytes(content[:20] + b"\xff" * 20 + content[40:])
    with pytest.raises(ValueError, match=r"damaged|numbers only"):
        rows_of(tmp_path / "y.parquet")


def test_ids_that_are_no_rows_are_refused():
    for x in (X, X.numpy(), sparse.csr_array(X.numpy()), X.numpy().astype(np.int64)):
        for ids in ([6], [-1], [10**9]):
            with pytest.raises(ValueError, match="vertices must be from 0 to 5"):
                rows_of(x).take(np.array(ids))


def test_the_vertices_of_a_loader_cannot_be_changed_to_others():
    loader = hg.NeighborLoader(H, X)
    with pytest.raises(ValueError, match="read-only"):
        loader.vertices[0] = 10**9
    loader.vertices = np.array([10**9])
    with pytest.raises(ValueError, match="vertices must be from 0 to 5"):
        next(iter(loader))


def test_huge_settings_mean_all_or_are_refused():
    everything = next(iter(hg.NeighborLoader(H, X, shuffle=False))).x
    drawn = next(iter(hg.NeighborLoader(H, X, fanout=[(2**70, 2**63)], shuffle=False)))
    torch.testing.assert_close(drawn.x, everything)
    with pytest.raises(ValueError, match="epoch must be at most"):
        hg.NeighborLoader(H, X).set_epoch(2**64)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (torch.empty(6, device="meta"), TypeError, "must have values"),
        (np.zeros(6, np.longdouble), TypeError, "type that torch has"),
        ([[1], [1, 2], 1, 1, 1, 1], ValueError, "rows of the same length"),
    ],
)
def test_labels_that_cannot_be_tensors_are_refused(y, error, message):
    if isinstance(y, np.ndarray) and y.dtype.itemsize == 8:
        pytest.skip("here, such numbers are ordinary ones")
    with pytest.raises(error, match=message):
        hg.NeighborLoader(H, X, y)


def test_labels_of_any_byte_order_and_of_bfloat16_become_tensors():
    for y in (np.arange(6).astype(">i8"), torch.arange(6).to(torch.bfloat16)):
        batch = next(iter(hg.NeighborLoader(H, X, y, shuffle=False)))
        assert batch.y.tolist() == [0, 1, 2, 3, 4, 5]


def test_control_variates_refuse_batches_of_another_hypergraph():
    network = hg.Network(hg.Config(), n_features=8, n_classes=2)
    loader = hg.NeighborLoader(H, X, fanout=TWO)
    variates = hg.models.ControlVariates(network, loader)
    variates.refresh()
    large = hg.Hypergraph.from_hyperedges([[99_998, 99_999]], n_vertices=100_000)
    other = next(iter(hg.NeighborLoader(large, np.zeros((100_000, 8), np.float32), vertices=[99_999], fanout=TWO)))
    with pytest.raises(ValueError, match="vertices must be from 0 to 5"):
        variates(other)
    with pytest.raises(ValueError, match="a block for each of the 2 layers; got 1"):
        variates(replace(next(iter(loader)), blocks=other.blocks[:1]))
    with pytest.raises(ValueError, match="must have 5 columns"):
        hg.models.ControlVariates(hg.Network(hg.Config(), n_features=5, n_classes=2), loader)
    with pytest.raises(TypeError, match="NeighborLoader; got Network and NoneType"):
        hg.models.ControlVariates(network, None)


FULL = """
import sys, tempfile
import numpy as np
import hypergnn as hg
from hypergnn.loader.features import rows_of
from hypergnn.persistence import scratch

tempfile.tempdir = sys.argv[1]
for work in (lambda: scratch.matrix(1 << 17, 8, np.float32), lambda: rows_of(sys.argv[2])):
    try:
        work()[:] = 1
    except OSError as error:
        print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0 or not shutil.which("mount"), reason="only root may mount")
def test_a_full_disk_for_temporary_files_is_an_error_and_no_signal(tmp_path, tally):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": np.zeros(1 << 18)}), tmp_path / "x.parquet")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("this system does not let tests mount")
    try:
        done = subprocess.run(
            [sys.executable, "-c", FULL, disk, tmp_path / "x.parquet"], capture_output=True, text=True, check=False
        )
    finally:
        subprocess.run(["umount", disk], check=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "No space left on device for a temporary file of" in line
        assert str(disk) in line
        tally("full disks: temporary files")


def test_a_file_system_that_cannot_reserve_space_is_used_without(monkeypatch):
    def cannot(*_):
        raise OSError(95, "not supported")

    monkeypatch.setattr(os, "posix_fallocate", cannot, raising=False)
    assert scratch.matrix(3, 2, np.float64).shape == (3, 2)
