"""What the names in queries, and in the environment of Jobs, stand for in a question. Pure."""

from volary.analysis.metering import meters
from volary.config.stages import query_placeholders
from volary.model.pipeline import variant


def of(question: meters.Question) -> query_placeholders.Values:
    """Return what the names in queries stand for in a question."""
    rule, names, application = question.rule, question.names, question.application
    own = {
        variant.Variant.CANARY: rule.canary_arguments,
        variant.Variant.BASELINE: rule.baseline_arguments,
        variant.Variant.PRIMARY: rule.primary_arguments,
    }
    return query_placeholders.Values(
        application=application.name,
        variant=question.side.value,
        namespace=names.namespace,
        workload=names.workload_of(question.side),
        primary=names.workload,
        cluster=question.target,
        interval=rule.interval,
        service=names.service_of(question.side, application.traffic_routing.services),
        ingress=names.ingress,
        route=names.route,
        arguments=rule.arguments,
        variant_arguments=own[question.side],
        metric=rule.name,
        run=question.run,
        commit=question.commit,
        labels=application.labels,
    )
