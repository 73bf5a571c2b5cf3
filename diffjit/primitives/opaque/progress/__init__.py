"""Progress bars of tqdm: programs go through what they go through, and show nothing of it."""
