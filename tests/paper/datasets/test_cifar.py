"""CIFAR-10: the official files, how they are split, and what is said when they are not there."""

import hashlib
import http.server
import importlib.util
import io
import tarfile
import threading
from functools import partial

import numpy as np
import pytest
import torch

from augnet.paper.config import ConfigError, Named
from augnet.paper.datasets import DATASETS, cifar
from augnet.paper.run import make


@pytest.fixture
def official(tmp_path, monkeypatch):
    """Write files that look like the official ones, with 40 images each, and their checksums."""
    monkeypatch.setattr(cifar, "IMAGES", 40)
    folder = tmp_path / "data" / cifar.FOLDER
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for files in (cifar.TRAIN_MD5, cifar.TEST_MD5):
        for name in files:
            records = rng.integers(0, 256, (40, cifar.RECORD), dtype=np.uint8)
            records[:, 0] = rng.permutation(np.arange(40) % 10)
            content = records.tobytes()
            (folder / name).write_bytes(content)
            monkeypatch.setitem(files, name, hashlib.md5(content).hexdigest())
            monkeypatch.setitem(cifar.SHA256, name, hashlib.sha256(content).hexdigest())
    return folder.parent


small = partial(cifar.load, sizes=(160, 40, 40))


def test_splits_are_even_disjoint_and_seeded(official):
    train, valid, test = small(root=str(official))
    assert train.x.shape == (160, 3, 32, 32)
    assert train.x.dtype == torch.float32
    assert train.y.bincount().tolist() == [16] * 10
    assert valid.y.bincount().tolist() == test.y.bincount().tolist() == [4] * 10
    together = torch.cat((train.x, valid.x)).flatten(1)
    assert len(together.unique(dim=0)) == 200
    again, other = small(0, root=str(official)), small(1, root=str(official))
    assert torch.equal(train.x, again.train.x)
    assert not torch.equal(train.x, other.train.x)
    assert torch.equal(test.x, other.test.x)
    fewer = small(root=str(official), sizes=(50, 20, 10))
    assert fewer.train.y.bincount().tolist() == [5] * 10
    assert len(fewer.test.x) == 10


def test_records_are_a_label_and_channels(official):
    first = (official / cifar.FOLDER / "test_batch.bin").read_bytes()[: cifar.RECORD]
    _, _, test = small(root=str(official))
    assert test.y[0] == first[0]
    assert test.x[0, 1, 2, 3].mul(255).round() == first[1 + 1024 + 2 * 32 + 3]


def test_the_environment_says_where(official, monkeypatch):
    monkeypatch.setenv("AUGNET_DATA", str(official))
    assert small().train.x.shape[0] == 160
    assert cifar.find(str(official / cifar.FOLDER)) == official / cifar.FOLDER


def test_what_is_missing_truncated_or_altered_is_said(official, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"no cifar-10-batches-bin/test_batch.bin in .* data.root"):
        small(root=str(tmp_path / "elsewhere"))
    monkeypatch.setenv("AUGNET_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(ValueError, match="which AUGNET_DATA names: unpack the official"):
        small()
    file = official / cifar.FOLDER / "data_batch_3.bin"
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    with pytest.raises(ValueError, match=r"data_batch_3.bin has 122919 bytes instead of 122920"):
        small(root=str(official))
    file.write_bytes(b"\x00" + content[1:-1] + b"\x01")
    with pytest.raises(ValueError, match=r"data_batch_3.bin was altered: its md5 is \w+ instead"):
        small(root=str(official))
    forged = hashlib.md5(file.read_bytes()).hexdigest()
    monkeypatch.setitem(cifar.TRAIN_MD5, file.name, forged)  # as if two files had one MD5
    with pytest.raises(
        ValueError, match=r"data_batch_3.bin was altered: its SHA-256 is \w+; unpack"
    ):
        small(root=str(official))
    file.unlink()
    with pytest.raises(ValueError, match=r"data_batch_3.bin is missing: unpack"):
        small(root=str(official))
    spec = Named(name="cifar10", root=str(official))
    with pytest.raises(ConfigError, match=r"data.cifar10: .* is missing"):
        make("data", DATASETS, spec, seed=0)


@pytest.mark.parametrize("sizes", [(0, 1, 1), (64, 32), (64, 32, 32, 7), 5, "abc", (8, 8, 0.5)])
@pytest.mark.parametrize("name", ["cifar10", "mario-iggy", "sinusoids", "sleep"])
def test_sizes_are_checked(name, sizes):
    with pytest.raises(ValueError, match="sizes takes three whole numbers from 1"):
        DATASETS[name](sizes=sizes)


@pytest.mark.parametrize("sizes", [(40_001, 10_000, 10_000), (10, 10, 10_001)])
def test_there_are_only_so_many_images(sizes):
    with pytest.raises(ValueError, match="sizes are at most"):
        cifar.load(sizes=sizes)


@pytest.fixture
def server(official, tmp_path, monkeypatch):
    """Serve an archive of the files on this machine."""
    served = tmp_path / "served"
    served.mkdir()
    with tarfile.open(served / "cifar.tar.gz", "w:gz") as archive:
        for file in sorted((official / cifar.FOLDER).iterdir()):
            archive.add(file, f"{cifar.FOLDER}/{file.name}")
        note = tarfile.TarInfo(f"{cifar.FOLDER}/readme.html")
        archive.addfile(note, io.BytesIO(b""))
    sha256 = hashlib.sha256((served / "cifar.tar.gz").read_bytes()).hexdigest()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = partial(Quiet, directory=str(served))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        monkeypatch.setattr(cifar, "URL", f"http://127.0.0.1:{server.server_port}/cifar.tar.gz")
        monkeypatch.setattr(cifar, "ARCHIVE_SHA256", sha256)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_download_once_with_a_checksum(server, tmp_path, monkeypatch):
    folder = cifar.download(tmp_path / "cache")
    images, labels = cifar.read(folder, cifar.TEST_MD5)
    assert images.shape == (40, 3, 32, 32)
    assert labels.bincount().tolist() == [4] * 10
    monkeypatch.setattr(cifar, "URL", "http://127.0.0.1:9/nobody")
    assert cifar.download(tmp_path / "cache") == folder
    with pytest.raises(ValueError, match=r"cannot be downloaded .* --set data.root=DIR"):
        cifar.download(tmp_path / "another")


def test_download_of_something_else_is_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(cifar, "ARCHIVE_SHA256", "0" * 64)
    with pytest.raises(ValueError, match="hash"):
        cifar.download(tmp_path / "cache")


def test_the_real_data(shared_data, tmp_path):
    script = shared_data / "cifar10" / "unpack.py"
    if not script.exists():
        pytest.skip(f"no real data: {script} is not there")
    pytest.importorskip("PIL")
    spec = importlib.util.spec_from_file_location("unpack", script)
    unpack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(unpack)
    unpack.main(tmp_path)
    train, valid, test = cifar.load(root=str(tmp_path))
    assert train.x.shape == (40_000, 3, 32, 32)
    assert train.y.bincount().tolist() == [4000] * 10
    assert valid.y.bincount().tolist() == test.y.bincount().tolist() == [1000] * 10
    means = train.x.mean((0, 2, 3))
    assert torch.allclose(means, torch.tensor([0.4914, 0.4822, 0.4465]), atol=2e-3)
