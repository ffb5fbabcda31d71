"""What a person may see: the applications their grants cover."""

from dataclasses import dataclass, field

from starlette import requests

from volary.controller import refusals
from volary.controller.api import service
from volary.server import permissions, server_state
from volary.store import records


@dataclass(slots=True)
class Visibility:
    """Answers for one person; remembers for as long as one request lasts."""

    person: permissions.Person
    service: service.Service
    permission: permissions.Permission = permissions.Permission.VIEW
    _known: dict[str, bool] = field(default_factory=dict)

    @property
    def is_unrestricted(self) -> bool:
        """Whether there is nothing that this person may not see."""
        return self.person.may_everywhere(self.permission)

    async def can_see(self, application: str) -> bool:
        """Say whether an application may be seen; one that is not known may not."""
        if self.is_unrestricted:
            return True
        if application not in self._known:
            try:
                labels = (await self.service.application(application)).labels
            except refusals.NotFound:
                self._known[application] = False
            else:
                self._known[application] = self.person.may(self.permission, labels)
        return self._known[application]

    def can_see_project(self, project: str) -> bool:
        """Say whether what belongs to a project may be seen."""
        return bool(project) and self.is_unrestricted

    async def names(self) -> frozenset[str] | None:
        """Return the applications that may be seen; None: all."""
        if self.is_unrestricted:
            return None
        everything = self.service.every_application(records.ApplicationFilter(with_removed=True))
        return frozenset(
            [
                item.name
                async for item in everything
                if self.person.may(self.permission, item.labels)
            ]
        )


def of(request: requests.Request) -> Visibility:
    """Return what the person behind a request may see."""
    return Visibility(server_state.person(request), server_state.of(request).service)
