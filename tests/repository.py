"""A clone of a throw-away Git and DVC repository in which the real workflow runs in miniature."""

import hashlib
import shutil
from pathlib import Path

from checkout import ROOT, Checkout

VERSIONED = (".dvc/config", ".dvc/.gitignore", ".dvcignore", ".gitignore", "dvc.yaml", "params.yaml")
CLEAN = "Data and pipelines are up to date."


class Repository(Checkout):
    """A checkout that Git and DVC know."""

    @classmethod
    def found(cls, checkout: Checkout, folder: Path) -> "Repository":
        """A new repository with what lies in ``checkout``."""
        shutil.copytree(checkout.folder, folder)
        for name in VERSIONED:
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        made = cls(folder)
        made.git("init", "--quiet", "--initial-branch", "main")
        made.commit("start")
        return made

    def clone(self, name: str, link: str = "", pull: bool = True) -> "Repository":
        """A clone beside this one, so that both have the same remote out of the box."""
        self.git("clone", "--quiet", ".", f"../{name}")
        made = Repository(self.folder.parent / name)
        if link:
            made.dvc("config", "--local", "cache.type", link)
        if pull:
            made.dvc("pull", "--quiet")
        return made

    def environment(self) -> dict[str, str]:
        # One core, so that the tests may run side by side; Git's words must not depend on the user's settings.
        person = {
            f"GIT_{role}_{key}": "test@example.org" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
        }
        return super().environment() | person | {"GIT_CONFIG_GLOBAL": "/dev/null", "NO_COLOR": "1"}

    def git(self, *arguments: str) -> str:
        return self.run("git", *arguments)

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def dvc(self, *arguments: str, code: int | None = 0) -> str:
        return self.run("dvc", *arguments, code=code)

    def snapshot(self, message: str) -> None:
        self.run("fedsift", "snapshot")
        self.commit(message)

    def is_settled(self) -> bool:
        """Whether both say that there is nothing to do."""
        listed, status = self.would_run(), self.dvc("status")
        if listed or CLEAN not in status:
            print(listed, status)
        return not listed and CLEAN in status

    def damaged(self, cache: str = ".dvc/cache") -> list[Path]:
        """Objects of the cache that are not what their names say."""
        objects = list((self.folder / cache).glob("files/md5/??/*"))
        assert objects
        return [path for path in objects if _md5(path) != path.parent.name + path.name.removesuffix(".dir")]


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
