"""Algorithms 1 to 10 of Hou, Li and Jacobsen, as far as it takes to show where they err.

Advertisements and subscriptions are lists of names and ``*``, counted from 1 in the paper and from 0 here.
"""

from __future__ import annotations

from collections.abc import Sequence

Steps = Sequence[str]


def abs_adv(advertisement: Steps, subscription: Steps) -> bool:
    """Algorithm 1."""
    return len(subscription) <= len(advertisement) and all(
        one == other or "*" in (one, other) for one, other in zip(advertisement, subscription, strict=False)
    )


def next_table(subscription: Steps) -> list[int]:
    """Algorithm 2; the first two entries are not used."""
    m, table = ["", *subscription], [0, -1, 0]
    for i in range(3, len(subscription) + 1):
        j = table[i - 1] + 1
        while j > 0 and m[i - 1] != m[j] and "*" not in (m[i - 1], m[j]):
            j = table[j] + 1
        table.append(j)
    return table


def rel_adv(advertisement: Steps, subscription: Steps) -> bool:
    """Algorithm 3: Knuth, Morris and Pratt's search, where ``*`` is equal to everything."""
    table, (n, k), (i, j) = next_table(subscription), (len(advertisement), len(subscription)), (1, 1)
    while k <= n and i <= n:
        if "*" in (advertisement[i - 1], subscription[j - 1]) or advertisement[i - 1] == subscription[j - 1]:
            i, j = i + 1, j + 1
        else:
            j = table[j] + 1
            if j == 0:
                i, j = i + 1, 1
        if j == k + 1:
            return True
    return False


def sim_rec_adv(before: Steps, recursive: Steps, after: Steps, subscription: Steps) -> bool:
    """Algorithm 6: ``before(recursive)+after`` with an absolute subscription."""
    j, k = len(before) + len(recursive), len(subscription)
    n, period = j + len(after), len(recursive)
    once = [*before, *recursive]
    if k <= j or not abs_adv(once, subscription[:j]):
        return k <= j and abs_adv(once, subscription)
    q = 0 if k <= n else (k - n) // period + 1
    p = q + int((k - j - q * period) / period)
    for c in range(q, p + 1):
        begin = c * period + j
        if abs_adv(after, subscription[begin:]):
            return True
        if not abs_adv(recursive, subscription[begin:] if c == p else subscription[begin : begin + period]):
            return False
    return True


def ser_rec_adv(before: Steps, first: Steps, between: Steps, second: Steps, after: Steps, subscription: Steps) -> bool:
    """Algorithm 7, whose loop ends in its first round: ``before(first)+between(second)+after``."""
    if len(subscription) <= len(before) + len(first):
        return abs_adv([*before, *first], subscription)
    return sim_rec_adv([*before, *first, *between], second, after, subscription)


def emb_rec_adv(before: Steps, outer: Steps, inner: Steps, rest: Steps, after: Steps, subscription: Steps) -> bool:
    """Algorithm 8, likewise: ``before(outer(inner)+rest)+after``."""
    j = len(before) + len(outer) + len(inner) + len(rest)
    return sim_rec_adv([*before, *outer], inner, rest if len(subscription) <= j else [*rest, *after], subscription)


def abs_cov(general: Steps, special: Steps) -> int:
    """Algorithm 9."""
    fits = all(one in ("*", other) for one, other in zip(general, special, strict=False))
    return int(len(general) <= len(special) and fits)


def rel_cov(general: Steps, special: Steps) -> int:
    """Algorithm 10: where it fits, from 1; 0 where it does not."""
    places = range(len(special) - len(general) + 1)
    return next((place + 1 for place in places if abs_cov(general, special[place:])), 0)


def des_cov(general: str, special: str) -> bool:
    """Algorithm 11; what begins with ``//`` is what the paper calls relative."""
    s1, s2 = _pieces(general), _pieces(special)
    q, p = len(s1), len(s2)
    if sum(map(len, s1)) > sum(map(len, s2)):
        return False
    ends_in_star = s1[0][-1] == "*" and p >= 2
    flag = 0
    if not general.startswith("//"):
        if special.startswith("//"):
            return False
        temp = abs_cov(s1[0], s2[0])
        if not temp and ends_in_star and len(s1[0]) == len(s2[0]) + 1:
            temp, flag = abs_cov(s1[0][:-1], s2[0]), 1
        if not temp:
            return False
    else:
        temp = rel_cov(s1[0], s2[0])
        if not temp and ends_in_star and len(s2[0]) >= len(s1[0]):
            temp, flag = rel_cov(s1[0][:-1], s2[0][len(s2[0]) - len(s1[0]) + 1 :]), 1
    i = j = 1
    passed = skipped = 0
    while i <= q and j <= p:
        if not temp:
            j, passed = j + 1, 0
            if j == p + 1:
                return False
            temp, flag = _searched(s1[i - 1], s2[j - 1], skipped, last=j == p)
            skipped = 0
        else:
            passed, i = temp + passed + len(s1[i - 1]) - 1, i + 1
            if i == q + 1:
                return True
            if flag:
                temp, skipped = 0, 1
            else:
                temp, flag = _searched(s1[i - 1], s2[j - 1], passed, last=j == p)
    return False


def _searched(piece: Steps, within: Steps, begin: int, *, last: bool) -> tuple[int, int]:
    found = rel_cov(piece, within[begin:])
    if not found and len(within) >= len(piece) + begin and piece[-1] == "*" and not last:
        return rel_cov(piece[:-1], within[len(within) - len(piece) + 1 :]), 1
    return found, 0


def _pieces(path: str) -> list[list[str]]:
    return [piece.split("/") for piece in path.lstrip("/").split("//")]
