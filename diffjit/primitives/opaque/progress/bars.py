"""The bar, and where it comes from."""

# tqdm's signatures take whatever tqdm takes: no types.
# pyright: basic, reportMissingModuleSource=false, reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import tqdm

from diffjit.primitives.registry import implements


@implements(tqdm.tqdm.write)
def write(s, file=None, end="\n", nolock=False):
    """Print a line beside the bars."""
    if file is not None:
        raise NotImplementedError("tqdm.write(file=...): print there")
    print(s, end=end)  # noqa: T201


@implements(tqdm.tqdm)
class Bar:
    """A bar that nobody sees."""

    stands_for = tqdm.tqdm

    def __init__(self, iterable=None, desc=None, total=None, **options):
        self.iterable, self.desc, self.total, self.count = iterable, desc, total, options.get("initial", 0)

    def __iter__(self):
        return iter(self.iterable)

    def __len__(self):
        return len(self.iterable) if self.iterable is not None else self.total

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return False

    @property
    def n(self):
        """How far it has come, by `update`."""
        if self.iterable is not None:
            raise NotImplementedError("`n` of a bar of tqdm around what it goes through: count yourself")
        return self.count

    def update(self, n=1):
        """Go on."""
        self.count = self.count + n

    def reset(self, total=None):
        """Begin again."""
        self.count = 0

    def set_description(self, desc=None, refresh=True):
        """Nothing is shown."""

    def set_description_str(self, desc=None, refresh=True):
        """Nothing is shown."""

    def set_postfix(self, ordered_dict=None, refresh=True, **values):
        """Nothing is shown."""

    def set_postfix_str(self, s="", refresh=True):
        """Nothing is shown."""

    def refresh(self, nolock=False):
        """Nothing is shown."""

    def clear(self, nolock=False):
        """Nothing is shown."""

    def unpause(self):
        """Nothing is shown."""

    def close(self):
        """Nothing is shown."""

    def write(self, s, file=None, end="\n", nolock=False):
        """Print a line beside the bars."""
        write(s, file, end)


@implements(tqdm.trange)
def trange(*limits, **options):
    """A bar around a range."""
    return Bar(range(*limits), **options)


def unseen(module):
    """The same for what another module of tqdm's has under these names."""
    for name, plain in (("tqdm", Bar), ("trange", trange)):
        implements(getattr(module, name))(plain)
    implements(module.tqdm.write)(write)
