"""Watched repositories by their names in the settings."""

from volary.model import controller, errors
from volary.sources import mirrors
from volary.sources import repository as source_repository


class WatchedRepositories:
    """Opens what the watcher fetched."""

    def __init__(self, settings: controller.Settings, all_mirrors: mirrors.Mirrors) -> None:
        self._specs = {each.name: each for each in settings.repositories}
        self._mirrors = all_mirrors

    async def repository(self, name: str) -> source_repository.Repository:
        """Return a repository; commits it does not hold yet are fetched when they are read.

        Raises:
            UserError: There is none of that name.
        """
        spec = self._specs.get(name)
        if spec is None:
            raise errors.user_error(
                f"there is no repository {name}", hint="list it in the controller's settings"
            )
        return self._mirrors.mirror(spec).repository
