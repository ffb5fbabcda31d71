"""What tasks remember, and whose it is."""

from dataclasses import replace

from volary.stages.runtime import task_states


async def test_a_memory_belongs_to_one_attempt_on_one_cluster() -> None:
    keeper = task_states.InProcessStore()
    place = task_states.TaskAttempt("run", "2-ANALYSIS", "us", 1)
    mine = task_states.TaskState(place, "shop", keeper)
    await mine.save({"looks": 3})
    others = [
        task_states.TaskState(other, "shop", keeper)
        for other in (
            replace(place, attempt=2),
            replace(place, target="eu"),
            replace(place, stage="3-ANALYSIS"),
            replace(place, run="other"),
        )
    ]

    assert await task_states.TaskState(place, "shop", keeper).load() == {"looks": 3}
    assert [await each.load() for each in others] == [{}] * 4


async def test_what_is_kept_outlives_the_run_for_its_application_and_cluster() -> None:
    keeper = task_states.InProcessStore()
    first = task_states.TaskState(task_states.TaskAttempt("run-1", "a", "us", 1), "shop", keeper)
    await first.keep("analysis", {"started": 1})
    later = task_states.TaskState(task_states.TaskAttempt("run-2", "b", "us", 1), "shop", keeper)
    elsewhere = task_states.TaskState(
        task_states.TaskAttempt("run-2", "b", "eu", 1), "shop", keeper
    )
    other = task_states.TaskState(task_states.TaskAttempt("run-2", "b", "us", 1), "cart", keeper)

    assert await later.recall("analysis") == {"started": 1}
    assert await later.recall("other") == {}
    assert await elsewhere.recall("analysis") == {}
    assert await other.recall("analysis") == {}
