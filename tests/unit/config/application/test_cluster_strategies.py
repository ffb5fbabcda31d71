"""`strategies`: which cluster takes which pipeline."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.application import application_files, cluster_strategies
from volary.model import applications, errors
from volary.model.fleet import fleets
from volary.model.fleet import selectors as fleet_selectors
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.model.runs import run_plans
from volary.planner import plans

FILE = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  quickSync: {prune: true}
  strategies:
    - name: dev
      targets: {matchLabels: {env: dev}}
    - name: prod
      targets: {matchLabels: {env: prod}}
      pipeline:
        stages:
          - {name: K8S_CANARY_ROLLOUT, desc: try it}
          - {name: K8S_PRIMARY_ROLLOUT}
          - {name: K8S_CANARY_CLEAN}
    - name: rest
      pipeline:
        stages:
          - {name: K8S_SYNC, with: {multiTargets: [eu, odd]}}
"""


def shop(text: str = FILE) -> applications.Application:
    return application_files.parse(text, file="volary.yaml", default_name="x").require()


def cluster(name: str, **labels: str) -> fleets.Cluster:
    return fleets.Cluster(name, labels)


FLEET = (
    cluster("us", env="prod"),
    cluster("dev-1", env="dev"),
    cluster("eu"),
    cluster("asia", env="prod"),
)


def test_the_stages_of_all_stand_one_after_another() -> None:
    app = shop()

    assert [(each.index, each.strategy, each.name) for each in app.pipeline] == [
        (0, "dev", rollout_stages.SYNC.name),
        (1, "prod", rollout_stages.CANARY_ROLLOUT.name),
        (2, "prod", rollout_stages.PRIMARY_ROLLOUT.name),
        (3, "prod", rollout_stages.CANARY_CLEAN.name),
        (4, "rest", rollout_stages.SYNC.name),
    ]
    assert app.pipeline[0].options == rollout_stages.SyncOptions(prune=True)


def test_each_stage_visits_the_clusters_of_its_strategy() -> None:
    app = shop()

    built = plans._stages_of_run(
        app,
        run_plans.Strategy.PIPELINE,
        [each.name for each in FLEET],
        cluster_strategies.assign(app, FLEET),
    )

    assert [(each.strategy, each.targets) for each in built] == [
        ("dev", ("dev-1",)),
        ("prod", ("us", "asia")),
        ("prod", ("us", "asia")),
        ("prod", ("us", "asia")),
        ("rest", ("eu",)),
    ]
    assert built[1].description == "prod: try it"
    assert [each.index for each in built] == [0, 1, 2, 3, 4]


def test_a_strategy_without_clusters_has_no_stages_in_the_run() -> None:
    app = shop()
    left = [each for each in FLEET if each.labels.get("env") != "prod"]

    built = plans._stages_of_run(
        app,
        run_plans.Strategy.PIPELINE,
        [each.name for each in left],
        cluster_strategies.assign(app, left),
    )

    assert [each.strategy for each in built] == ["dev", "rest"]
    assert [each.index for each in built] == [0, 1]


def test_a_quick_sync_visits_every_cluster() -> None:
    app = shop()

    built = plans._stages_of_run(
        app,
        run_plans.Strategy.QUICK_SYNC,
        [each.name for each in FLEET],
        cluster_strategies.assign(app, FLEET),
    )

    assert [(each.name, each.targets) for each in built] == [(rollout_stages.SYNC.name, ())]


def test_a_limit_outside_of_the_strategy_is_refused() -> None:
    app = shop(FILE.replace("[eu, odd]", "[us]"))

    with pytest.raises(
        errors.UserError, match="no cluster is left for the stage K8S_SYNC"
    ) as error:
        plans._stages_of_run(
            app,
            run_plans.Strategy.PIPELINE,
            [each.name for each in FLEET],
            cluster_strategies.assign(app, FLEET),
        )
    assert "the clusters of the strategy rest are eu" in str(error.value)


SELECTORS = st.one_of(
    st.builds(applications.TargetSelector, names=st.tuples(st.sampled_from("abc"))),
    st.builds(
        applications.TargetSelector,
        match_labels=st.dictionaries(st.sampled_from("xy"), st.sampled_from("12"), max_size=2),
    ),
)
CLUSTERS = st.lists(
    st.builds(
        fleets.Cluster,
        st.sampled_from("abcdef"),
        st.dictionaries(st.sampled_from("xy"), st.sampled_from("12")),
    ),
    unique_by=lambda each: each.name,
)


@given(st.lists(SELECTORS, max_size=4), CLUSTERS)
def test_a_cluster_has_the_first_strategy_that_it_matches(
    selectors: list[applications.TargetSelector], clusters: list[fleets.Cluster]
) -> None:
    app = applications.Application(
        "shop",
        strategies=tuple(applications.Strategy(str(i), each) for i, each in enumerate(selectors)),
    )

    assigned = cluster_strategies.assign(app, clusters)

    for each in clusters:
        matching = [i for i, one in enumerate(selectors) if fleet_selectors.matches(one, each)]
        has = [name for name, members in assigned.items() if each.name in members]
        assert has == [str(i) for i in matching[:1]]
