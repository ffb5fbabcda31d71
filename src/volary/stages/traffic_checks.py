"""What the router cannot do with the manifests, known before anything starts: pure."""

from collections.abc import Sequence

from volary.model import application as applications
from volary.model import manifest, stage
from volary.stages import progressive_traffic, traffic_routing


def check(
    source: Sequence[manifest.Manifest],
    application: applications.Application,
    options: stage.StageOptions,
    target: str,
) -> None:
    """Refuse a stage that moves traffic, where its router cannot; any other stage is fine.

    Args:
        source: The manifests of the target source.
        application: The application.
        options: The stage's.
        target: The cluster; empty: as for one that nothing is said of.

    Raises:
        UserError: The router cannot divide traffic like this, or the manifests lack what it
            needs: the object that carries the routes, a route that is named, a Service.
    """
    if isinstance(options, stage.TrafficOptions):
        traffic_routing.plan(source, application, options.on(target))
    elif isinstance(options, stage.ProgressiveTrafficOptions | stage.BlueGreenOptions):
        traffic_routing.plan(source, application, stage.TrafficOptions(100))
    if isinstance(options, stage.ProgressiveTrafficOptions):
        progressive_traffic.plan(source, application, options)
