"""Which loops of a worker are stuck: looks without a new stamp are counted."""

import threading

from alerting.engine.progress import STUCK_AFTER, LoopProgress


def test_a_loop_is_stuck_after_a_number_of_looks_without_a_stamp() -> None:
    progress = LoopProgress()
    progress.stamp("evaluate")
    assert [progress.look() for _ in range(STUCK_AFTER)] == [None] * STUCK_AFTER
    assert progress.look() == "evaluate"


def test_a_stamp_starts_the_count_again() -> None:
    progress = LoopProgress()
    for _ in range(3):
        progress.stamp("evaluate")
        assert [progress.look() for _ in range(STUCK_AFTER)] == [None] * STUCK_AFTER


def test_another_loop_with_progress_hides_no_stuck_loop() -> None:
    progress = LoopProgress()
    progress.stamp("evaluate")
    found = []
    for _ in range(STUCK_AFTER + 1):
        progress.stamp("deliver")
        found.append(progress.look())
    assert found == [None] * STUCK_AFTER + ["evaluate"]


def test_a_loop_that_never_started_is_not_stuck() -> None:
    assert LoopProgress().look() is None


def test_the_place_of_a_loop_names_the_calls_it_is_in() -> None:
    progress, begun, done = LoopProgress(), threading.Event(), threading.Event()

    def stay_here() -> None:
        progress.stamp("evaluate")
        begun.set()
        done.wait()

    thread = threading.Thread(target=stay_here, daemon=True)
    thread.start()
    begun.wait()
    place = progress.place_of("evaluate")
    done.set()
    thread.join()
    assert "stay_here" in place
    assert progress.place_of("evaluate") == "its thread has ended"
