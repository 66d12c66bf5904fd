"""Reading nights: EDF files and hypnograms, what may be wrong with them, and the cache."""

import json
import multiprocessing

import numpy as np
import pytest
from edf import write_edf

from augnet.paper.datasets import sleep
from augnet.paper.datasets.sleep import BadRecordingError, Preprocessing, SkippedRecordingWarning
from augnet.paper.datasets.sleep.cache import cached_night
from augnet.paper.datasets.sleep.header import read_header
from augnet.paper.datasets.sleep.hypnogram import read_hypnogram
from augnet.paper.datasets.sleep.recording import find_channel, read_night, read_signals
from augnet.paper.datasets.sleep.sources import dream, mass, physionet, ucddb

pytest.importorskip("mne")
NAMES = (*sleep.CHANNELS, "A2")
STAGES = [
    (0, 60, "W"),
    (60, 30, "1"),
    (90, 30, "?"),
    (120, 60, "2"),
    (180, 30, "4"),
    (210, 30, "R"),
]
HOW = Preprocessing()


def psg(path, seconds=240, sfreq=100, names=NAMES, suffix="-CLE", **waves):
    """Write a recording of noise in MASS's manner; `waves` have a frequency of their own."""
    rng = np.random.default_rng(len(path.name))
    time = np.arange(seconds * sfreq) / sfreq
    signals = {
        f"EEG {name}{suffix}": 20 * rng.standard_normal(len(time))
        + 200 * np.sin(2 * np.pi * waves.get(name, 0) * time)
        for name in names
    }
    return write_edf(path, signals, sfreq)


def base(path, stages=STAGES, **kwargs):
    notes = [(onset, length, f"Sleep stage {name}") for onset, length, name in stages]
    return write_edf(path, {}, annotations=notes, **kwargs)


@pytest.fixture
def pair(tmp_path):
    return psg(tmp_path / "01-03-0001 PSG.edf"), base(tmp_path / "01-03-0001 Base.edf")


def test_a_night_is_cut_staged_and_standardized(pair):
    x, y = read_night(*pair, HOW)
    assert y.tolist() == [0, 0, 1, 2, 2, 3, 4]  # N4 is N3, and what nobody scored is dropped
    assert x.shape == (7, 6, 3000)
    assert x.dtype == np.float32
    assert np.abs(x.mean(-1)).max() < 1e-4
    assert np.abs(x.std(-1) - 1).max() < 1e-3


def test_signals_are_referenced_filtered_and_resampled(tmp_path):
    file = psg(tmp_path / "n PSG.edf", 60, sfreq=256, C3=10, C4=45, A2=5)
    signals = read_signals(file, HOW)
    assert signals.shape == (6, 6000)
    power = np.abs(np.fft.rfft(signals)) ** 2
    peak = np.fft.rfftfreq(6000, 0.01)[power.argmax(1)]
    assert peak[0] == pytest.approx(10, abs=0.1) or peak[0] == pytest.approx(5, abs=0.1)
    assert peak[2] == pytest.approx(5, abs=0.1)  # of the reference
    tens, forties = (np.abs(np.fft.rfftfreq(6000, 0.01) - f).argmin() for f in (10, 45))
    assert power[0, tens] > 1e3 * power[1, forties]
    alone = read_signals(file, Preprocessing(reference=None))
    assert (np.abs(np.fft.rfft(alone)) ** 2).argmax(1)[0] == tens


def test_channels_are_found_by_what_they_are_called(tmp_path):
    labels = ("EEG C3-CLE", "c4-ref", "EEG Fpz-Cz", "EMG 1-2")
    assert find_channel(tmp_path, labels, "C3") == "EEG C3-CLE"
    assert find_channel(tmp_path, labels, "C4") == "c4-ref"
    assert find_channel(tmp_path, labels, "Fpz-Cz") == "EEG Fpz-Cz"
    with pytest.raises(BadRecordingError, match=r"no channel O1. There are: EEG C3-CLE"):
        find_channel(tmp_path, labels, "O1")
    with pytest.raises(BadRecordingError, match="several channels C3"):
        find_channel(tmp_path, (*labels, "C3-A1"), "C3")


def test_channels_recorded_against_the_reference_need_none(tmp_path):
    file = psg(tmp_path / "n PSG.edf", 60, names=sleep.CHANNELS, suffix="-A2")
    assert read_signals(file, HOW).shape == (6, 6000)


def test_wake_is_trimmed_and_a_late_hypnogram_shifted(tmp_path):
    night = psg(tmp_path / "n PSG.edf", seconds=600, names=["C3"])
    long = base(tmp_path / "long.edf", [(0, 300, "W"), (300, 30, "2"), (330, 240, "W")])
    scored = read_hypnogram(long, night, 30.0, trim=1.0)
    assert scored.onsets.tolist() == [240, 270, 300, 330, 360]
    late = base(tmp_path / "late.edf", [(0, 60, "2")], start="01.01.2521.01.00")
    assert read_hypnogram(late, night, 30.0, trim=1.0).onsets.tolist() == [60, 90]


def truncated(pair):
    content = pair[0].read_bytes()
    pair[0].write_bytes(content[: len(content) // 2])


def header_only(pair):
    pair[0].write_bytes(pair[0].read_bytes()[:300])


def no_edf(pair):
    pair[0].write_text("x" * 5000)


def missing_channel(pair):
    psg(pair[0], names=NAMES[1:])


def no_reference(pair):
    psg(pair[0], names=NAMES[:-1])


def flat(pair):
    write_edf(pair[0], {f"EEG {name}-CLE": np.zeros(24000) for name in NAMES})


def another_night(pair):
    base(pair[1], [(0, 30, "W"), (5000, 30, "2")])


def overlapping(pair):
    base(pair[1], [(0, 120, "W"), (60, 30, "2")])


def unknown(pair):
    base(pair[1], [(0, 30, "W"), (30, 30, "dreaming")])


def unscored(pair):
    base(pair[1], [(0, 60, "?")])


def short_pages(pair):
    base(pair[1], [(0, 20, "W"), (20, 20, "2")])


FAULTS = {
    truncated: "truncated: .* about 1[12][0-9] s of 240 s", header_only: "ends within its header",
    no_edf: "no EDF file", missing_channel: "no channel C3. There are: EEG C4-CLE",
    no_reference: "no channel A2", flat: "flat", another_night: "does not fit .*another night",
    overlapping: "overlap", unknown: "unknown annotations: Sleep stage dreaming",
    unscored: "no sleep stages", short_pages: "at most 20 s; windows are of 30 s",
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_what_is_bad_is_named_explained_and_never_cached(fault, pair, tmp_path):
    fault(pair)
    with pytest.raises(BadRecordingError, match=FAULTS[fault]) as caught:
        cached_night(*pair, HOW, tmp_path / "cache")
    assert caught.value.file in pair
    assert not list((tmp_path / "cache").rglob("*.npy"))


def folder_of_mass(root, subjects):
    for n in range(subjects):
        psg(root / f"01-03-{n:04d} PSG.edf")
        base(root / f"01-03-{n:04d} Base.edf")


def test_mass_is_loaded_in_folds_and_bad_nights_are_refused_or_skipped(tmp_path):
    root, cache = tmp_path / "mass", tmp_path / "cache"
    root.mkdir()
    folder_of_mass(root, 6)
    options = {"source": "mass", "root": str(root), "cache": str(cache)}
    splits = sleep.load(0, **options)
    assert sum(len(part.y) for part in splits) == 42
    assert len(list(cache.rglob("x.npy"))) == 6
    truncated([root / "01-03-0003 PSG.edf"])
    with pytest.raises(BadRecordingError, match="0003"):
        sleep.load(0, **options)
    with pytest.warns(SkippedRecordingWarning, match=r"skipped .*0003 PSG\.edf: is truncated"):
        splits = sleep.load(0, **options, bad="skip")
    assert sum(len(part.y) for part in splits) == 35
    (root / "01-03-0005 Base.edf").unlink()
    with pytest.raises(BadRecordingError, match=r"no hypnogram 01-03-0005 Base\.edf"):
        mass(root)
    with pytest.raises(ValueError, match="no recordings below"):
        mass(cache)


def test_sleep_physionet_pairs_its_files(tmp_path):
    for name in ("SC4001E0-PSG.edf", "SC4002E0-PSG.edf", "SC4011E0-PSG.edf"):
        psg(tmp_path / name, names=["Fpz-Cz", "Pz-Oz"], suffix="")
        base(tmp_path / f"{name[:7]}C-Hypnogram.edf")
    files = physionet(tmp_path)
    assert [each.subject for each in files] == ["SC400", "SC400", "SC401"]
    how = Preprocessing(("Fpz-Cz", "Pz-Oz"), reference=None)
    assert read_night(*files[0][1:], how).x.shape == (7, 2, 3000)


def test_sleep_physionet_is_fetched_through_mne_where_no_root_is_named(tmp_path, monkeypatch):
    from mne.datasets.sleep_physionet import age

    def fetch(subjects, recording, path, on_missing):
        assert recording == [1]
        pairs = []
        for n in subjects:
            start = tmp_path / f"SC4{n:02d}1E"
            pairs.append([str(psg(start.with_name(f"{start.name}0-PSG.edf"), names=["Fpz-Cz"],
                                  suffix="")),
                          str(base(start.with_name(f"{start.name}C-Hypnogram.edf")))])  # fmt: skip
        return pairs

    monkeypatch.setattr(age, "fetch_data", fetch)
    splits = sleep.load(0, source="physionet", channels=["Fpz-Cz"], reference="", nights=(2, 2, 1),
                        cache=str(tmp_path / "cache"))  # fmt: skip
    assert [len(part.y) for part in splits] == [14, 14, 7]
    assert splits.train.x.shape == (14, 1, 3000)


def test_the_cache_is_mapped_and_keyed_by_contents_and_settings(pair, tmp_path):
    cache, calls = tmp_path / "cache", []

    def read(*args):
        calls.append(args)
        return read_night(*args)

    first = cached_night(*pair, HOW, cache, read)
    again = cached_night(*pair, HOW, cache, read)
    assert len(calls) == 1
    assert isinstance(again.x, np.memmap)
    assert (first.x == again.x).all()
    cached_night(*pair, Preprocessing(standard="night"), cache, read)
    assert len(calls) == 2
    base(pair[1], STAGES[:-1])
    assert len(cached_night(*pair, HOW, cache, read).y) == 6
    assert len(calls) == 3
    made = [json.loads(file.read_text()) for file in cache.rglob("night.json")]
    assert {each["preprocessing"]["standard"] for each in made} == {"window", "night"}


def test_a_write_that_fails_leaves_nothing(pair, tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "save", broken)
    with pytest.raises(OSError, match="disk full"):
        cached_night(*pair, HOW, tmp_path / "cache")
    assert not list((tmp_path / "cache" / "sleep").iterdir())


def fill(pair, cache):
    cached_night(*pair, HOW, cache)


def test_two_processes_fill_one_cache(pair, tmp_path):
    context = multiprocessing.get_context("fork")
    both = [context.Process(target=fill, args=(pair, tmp_path / "cache")) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert [each.exitcode for each in both] == [0, 0]
    assert len(list((tmp_path / "cache" / "sleep").iterdir())) == 1


def test_real_files_are_read(shared_data, tmp_path):
    file = shared_data / "sleep-dream" / "subject010_REM.edf"
    assert read_header(file).seconds == pytest.approx(73, abs=1.5)
    stages = base(tmp_path / "b.edf", [(0, 60, "R")], start=read_header(file).start.strftime(
        "%d.%m.%y%H.%M.%S"))  # fmt: skip
    night = read_night(file, stages, HOW)
    assert night.x.shape == (2, 6, 3000)
    assert night.y.tolist() == [4, 4]
    short = base(tmp_path / "s.edf", [(0, 600, "R")], start=read_header(file).start.strftime(
        "%d.%m.%y%H.%M.%S"))  # fmt: skip
    with pytest.raises(BadRecordingError, match="does not fit subject010_REM"):
        read_night(file, short, HOW)


def test_real_windows_are_loaded_by_subject(shared_data):
    splits = sleep.load(0, source="dream", root=str(shared_data / "sleep-dream"))
    assert sum(len(part.y) for part in splits) == 308
    assert splits.train.x.shape[1:] == (6, 3000)
    assert set(splits.train.y.tolist()) == {0, 1, 2, 3}
    assert splits.train.x.isfinite().all()


def test_windows_of_dreams_are_standardized_by_subject(tmp_path):
    channels = [*Preprocessing().channels, "A2"]
    x = np.random.default_rng(0).normal(size=(4, 7, 3000))
    x[2:] *= 100  # whose amplifier is another
    found = {"x": x, "stage": [0, 1, 0, 1], "subject": list("aabb"), "channels": channels}
    file = tmp_path / "dream.npz"
    np.savez(file, uV_per_step=1.0, **found)
    for night in dream(file, Preprocessing(standard="night")).values():
        assert night().x.std() == pytest.approx(1, abs=1e-3)
    np.savez(file, x=x)
    with pytest.raises(BadRecordingError, match="lacks the arrays channels, stage"):
        dream(file, Preprocessing())


def test_real_windows_of_one_channel_are_loaded_by_subject(shared_data):
    root = str(shared_data / "sleep-ucddb")
    one = {"channels": ["EEG"], "reference": "", "windows": 20}
    splits = sleep.load(1, source="ucddb", root=root, **one)
    assert [len(part.y) // 20 for part in splits] == pytest.approx([10, 10, 5], abs=1)
    assert splits.train.x.shape[1:] == (1, 3000)
    assert set(splits.train.y.tolist()) == {0, 1, 2}
    assert splits.train.x.std(-1).mean() == pytest.approx(1, abs=1e-2)


ONE = Preprocessing(channels=("EEG",), reference=None, standard="none")


def test_windows_of_ucddb_are_resampled_filtered_and_selected(tmp_path):
    """A wave of 10 Hz stays; 50 Hz, the offset, other stages and flat windows go."""
    time = np.arange(3840) / 128
    wave, hum = np.sin(2 * np.pi * 10 * time), np.sin(2 * np.pi * 50 * time)
    x = np.stack([wave, wave + 3 * hum, wave + 5, wave, wave])
    file = tmp_path / "ucddb.npz"
    arrays = {"stage": [0, 4, 5, 3, 5], "subject": [2, 2, 2, 2, 2], "flat": [0, 0, 0, 0, 0.9]}
    np.savez(file, x=1000 * x, sfreq=128.0, **arrays)
    (night,) = (read() for read in ucddb(file, ONE).values())
    assert night.y.tolist() == [0, 1, 2]
    expected = 1000 * np.sin(2 * np.pi * 10 * np.arange(3000) / 100)
    middle = slice(500, 2500)
    assert np.abs(night.x[:, 0, middle] - expected[middle]).max() < 30
    with pytest.raises(ValueError, match="UCDDB has one channel"):
        ucddb(file, Preprocessing())
    np.savez(file, x=x)
    with pytest.raises(BadRecordingError, match="lacks the arrays flat, sfreq, stage, subject"):
        ucddb(file, ONE)
