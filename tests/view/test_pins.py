"""What pinned runs are called."""

from sim.view.pins import labels, legend, names

CHAT = {"v": "1", "preset": "chat", "n": "1000"}


def test_alone_a_pin_needs_no_number():
    assert names(1) == ["pinned"]
    assert names(3) == ["pin 1", "pin 2", "pin 3"]


def test_a_label_is_what_not_all_runs_share():
    assert labels([CHAT | {"rate": "6"}, CHAT | {"rate": "6", "seqs": "64"}], CHAT) == [
        "rate 6",
        "rate 6, batch limit 64",
    ]


def test_a_run_without_departures_is_called_by_its_preset():
    assert labels([CHAT], CHAT | {"rate": "6"}) == ["Chat"]
    assert labels([CHAT], CHAT) == ["Chat"]


def test_presets_are_named_where_they_differ():
    other = {"v": "1", "preset": "burst", "rate": "6"}
    assert labels([other, CHAT], CHAT) == ["Bursts: rate 6", "Chat: requests in the run 1000"]


def test_many_departures_are_counted():
    far = CHAT | {"rate": "6", "seqs": "64", "tp": "2", "mem": "0.8", "mix": "a:1,b:2", "x": "abcdef"}
    assert labels([far], CHAT) == ["rate 6, batch limit 64, tensor parallel 2 and 3 more"]


def test_departures_are_called_as_their_knobs_are():
    pin = CHAT | {"sched": "orca", "outputcv": "0.3", "chunk": "false"}
    assert labels([pin], CHAT) == ["scheduler Orca, output spread 0.3, chunked prefill off"]
    assert labels([CHAT | {"gpu": "H200", "bwait": "1"}], CHAT) == ["GPU H200, wait for a full batch 1"]
    assert labels([CHAT | {"reps": "3"}], CHAT) == ["reps 3"]  # no knob: as the link has it


def test_the_legend_names_each_dash():
    told = legend([("pin 1", "dash", "rate 6", True), ("pin 3", "11px,2px", "cap <1000>", False)])
    assert told == (
        '<span title="pin 1 (dashed, compared): rate 6"><b>pin 1</b> (dashed, compared): rate 6</span>'
        '<span title="pin 3 (long dashes): cap &lt;1000&gt;"><b>pin 3</b> (long dashes): cap &lt;1000&gt;</span>'
    )
