# shellcheck shell=bash
# Which Pythons are here: for .ci/run and .ci/nightly, which source it.

# python_of VERSION: a Python of that version, as python3.13 and so on or where pyenv keeps it
python_of() {
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        if "$candidate" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])' "$1" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "no Python $1" >&2
    return 1
}

# declared_pythons: the versions that pyproject.toml declares, the oldest first
declared_pythons() {
    sed -n 's/.*"Programming Language :: Python :: \(3\.[0-9]*\)".*/\1/p' pyproject.toml
}

# newer_python PYTHON: the newest Python that is here of those that are declared and newer than that one; nothing if none is
newer_python() {
    local own version found newest=""
    own=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || return 1
    for version in $(declared_pythons | awk -v own="$own" 'newer; $0 == own { newer = 1 }'); do
        found=$(python_of "$version" 2>/dev/null) && newest=$found
    done
    echo "$newest"
}

# versions_of PYTHON: what diffjit rests on there
versions_of() {
    "$1" --version
    "$1" -m pip list --format=freeze | grep -iE '^(numpy|numba|llvmlite|scipy|jax|gast|astor|optree|rich|pytest|hypothesis)=='
}
