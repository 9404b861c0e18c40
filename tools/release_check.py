"""Install the wheel in bare environments and run the smoke test there: python tools/release_check.py 3.11 3.13

For each Python given (a version or a path), once with the oldest versions that pyproject.toml allows and once with the
newest, first without extras and then with those that read and draw. Wheels only: nothing is compiled. Then every extra
is resolved on its own, the sdist is installed, and CITATION.cff validated. The logs go to results/release/.

With --again the environments of the last check are taken, and only what depends on the code is done anew.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
WORK, LOGS = ROOT / "build" / "release", ROOT / "results" / "release"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

#: Extras that the smoke test can use; the samplers have tests of their own.
SMOKED = "plot,io,files"

#: Warnings are errors, but for deprecations: those of other packages are theirs.
PYTHON_OPTIONS = ("-P", "-W", "error", "-W", "ignore::DeprecationWarning")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="+", help="versions such as 3.11, or paths of Pythons")
    parser.add_argument("--again", action="store_true", help="in the environments of the last check")
    given = parser.parse_args()
    pythons = [find_python(name) for name in given.pythons]
    shutil.rmtree(WORK / "dist" if given.again else WORK, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    LOGS.mkdir(exist_ok=True)
    wheel, sdist = build()
    oldest = WORK / "oldest.txt"
    oldest.write_text("\n".join(lower_bounds(PROJECT)) + "\n")
    for python in pythons:
        for age, constraints in {"oldest": ("-c", str(oldest)), "newest": ()}.items():
            smoke_twice(python, age, wheel, constraints)
    smoke_sdist(pythons[-1], sdist)
    if not given.again:
        for python in pythons:
            resolve_extras(python, wheel)
        validate_citation(pythons[0])


def lower_bounds(project: dict) -> list[str]:
    """The oldest version that pyproject.toml allows of each package, as pip constraints."""
    given = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    bounds: dict[str, Version] = {}
    for requirement in map(Requirement, given):
        for specifier in requirement.specifier:
            if specifier.operator == ">=":  # a package that stands in several places must suit all of them
                bounds[requirement.name] = max(Version(specifier.version), bounds.get(requirement.name, Version("0")))
    return [f"{name}=={version}" for name, version in sorted(bounds.items())]


def build() -> tuple[Path, Path]:
    """Wheel and sdist, by the build backend of this environment."""
    run([sys.executable, "-m", "hatchling", "build", "-d", str(WORK / "dist")])
    return next((WORK / "dist").glob("*.whl")), next((WORK / "dist").glob("*.tar.gz"))


def smoke_twice(python: str, age: str, wheel: Path, constraints: tuple[str, ...]) -> None:
    """The smoke test in an environment of the wheel alone, then with the extras of files and pictures."""
    name = f"python{version_of(python)}-{age}"
    text = ""
    for extras in ("", f"[{SMOKED}]"):
        bin = environment(python, name + ("-extras" if extras else ""))
        install(bin, "--only-binary", ":all:", *constraints, f"{wheel}{extras}")
        text += f"$ pip install --only-binary :all: {wheel.name}{extras}   # {age} versions\n$ python tools/smoke.py\n"
        text += run([bin / "python", *PYTHON_OPTIONS, "tools/smoke.py", PROJECT["version"]]) + "\n"
    write(f"{name}.log", text)


def resolve_extras(python: str, wheel: Path) -> None:
    """Each extra on its own has versions that go together, found without installing them."""
    name = f"python{version_of(python)}-extras"
    pip = environment(python, f"{name}-resolved") / "pip"
    text = ""
    for extra in PROJECT["optional-dependencies"]:
        said = run([pip, "install", "--dry-run", "--only-binary", ":all:", f"{wheel}[{extra}]"])
        text += f"$ pip install --dry-run --only-binary :all: {wheel.name}[{extra}]\n{said.splitlines()[-1]}\n\n"
    write(f"{name}.log", text)


def smoke_sdist(python: str, sdist: Path) -> None:
    """The smoke test once more, the package built from its source archive."""
    name = f"python{version_of(python)}-sdist"
    bin = environment(python, name)
    install(bin, str(sdist))
    said = run([bin / "python", *PYTHON_OPTIONS, "tools/smoke.py", PROJECT["version"]])
    write(f"{name}.log", f"$ pip install {sdist.name}\n$ python tools/smoke.py\n{said}")


def validate_citation(python: str) -> None:
    """CITATION.cff against the schema of its format."""
    bin = environment(python, "citation")
    run([bin / "pip", "install", "-qq", "cffconvert"])
    said = run([bin / "cffconvert", "--validate", "-i", "CITATION.cff"])
    write("citation.log", f"$ cffconvert --validate -i CITATION.cff\n{said}")


def environment(python: str, name: str) -> Path:
    """A virtual environment, with nothing but pip in it where it is new; the folder of its programs."""
    if not (WORK / name).exists():
        run([python, "-m", "venv", WORK / name])
    return WORK / name / "bin"


def install(bin: Path, *what: str) -> None:
    """The package with what it needs, and where another build of this version is installed, this one in its place."""
    run([bin / "pip", "uninstall", "-qq", "--yes", PROJECT["name"]])
    run([bin / "pip", "install", "-qq", *what])


def find_python(given: str) -> str:
    found = shutil.which(given) or shutil.which(f"python{given}")
    # What a version manager puts on the path may be a name without a Python behind it.
    if found is None or subprocess.run([found, "-c", ""], capture_output=True).returncode:
        sys.exit(f"There is no Python {given!r} on the path that starts: install it, or give the path of one.")
    return found


def version_of(python: str) -> str:
    return run([python, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]).strip()


def run(command: list[str | Path]) -> str:
    """What the command printed; its errors, and the end of this check, where it fails."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def write(name: str, text: str) -> None:
    """Logs name no folder of this machine."""
    (LOGS / name).write_text(text.replace(str(ROOT), ".").rstrip() + "\n")
    print(f"passed: results/release/{name}", flush=True)


if __name__ == "__main__":
    main()
