"""Compiled search for covers: the cheapest set of views that a view can be filled from, and all that cost little more.

    pairs    target q: ........|-- mask A --|-- B --|--- C ---|....     feeders of q, those with one mask together
    groups                      gA           gB      gC                  few for each target

A feeder is asked of its group only by its price, so that the search is over groups: of each the cheapest feeder that
sends what it covers, and the cheapest one at which the others' tuples are joined (the *host*, which sends the result).
"""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit

_kernel = njit(cache=True)
_ONE = np.uint64(1)
_NONE = np.uint64(0)
INFINITE = 1e300


@_kernel
def sending_cost(w, v, q, share, size, is_at_host):  # type: ignore[no-untyped-def]
    """What it costs that v sends its part of q's tuples, which are joined at q or at a host elsewhere."""
    sent = w.tuples[v] * share
    cost = w.per_tuple * (w.tuples[v] * w.cpu[v] + sent * w.cpu[q])
    if is_at_host or w.site[v] != w.site[q]:
        cost += sent * size * (w.out[v] + w.into[q])
    return cost


@_kernel
def hosting_cost(w, v, q):  # type: ignore[no-untyped-def]
    """What it costs that v computes the result of q and sends it."""
    cost = w.per_tuple * w.tuples[v] * w.cpu[v]
    if w.site[v] != w.site[q]:
        cost += w.tuples[q] * w.size[q] * (w.out[v] + w.into[q])
    return cost


@_kernel
def _least_for_bits(masks, first, n, costs, words, bits, least):  # type: ignore[no-untyped-def]
    for bit in range(bits):
        least[bit] = INFINITE
        for g in range(n):
            if masks[first + g, bit >> 6] >> np.uint64(bit & 63) & _ONE and costs[g] < least[bit]:
                least[bit] = costs[g]


@_kernel
def _next_bit(left, bits, least):  # type: ignore[no-untyped-def]
    """The bit not covered yet that is the most expensive to cover, and that price; -1 when all are covered."""
    bit, most = -1, -1.0
    for b in range(bits):
        if left[b >> 6] >> np.uint64(b & 63) & _ONE and least[b] > most:
            bit, most = b, least[b]
    return bit, max(most, 0.0)


@_kernel
def _search(  # type: ignore[no-untyped-def]
    masks, first, n, costs, left0, words, bits, least, spent0, best, chosen, found, left, bit_of, next_of
):
    """Depth first over the groups that cover the most expensive bit left. Gives (the best cost, how many groups).

    `left[d]` is what is not covered at depth d, `bit_of[d]` the bit that depth covers, `next_of[d]` the group to try.
    """
    depth, n_best, spent = 0, -1, spent0
    left[0, :words] = left0
    bit, least_more = _next_bit(left[0], bits, least)
    if bit < 0:
        return (spent, 0) if spent < best else (best, -1)
    if spent + least_more >= best:
        return best, -1
    bit_of[0], next_of[0] = bit, 0
    while depth >= 0:
        # The next group that covers this depth's bit; when none is left, go back.
        bit = bit_of[depth]
        g = next_of[depth]
        while g < n and not (masks[first + g, bit >> 6] >> np.uint64(bit & 63) & _ONE):
            g += 1
        if g == n:
            depth -= 1
            if depth >= 0:
                spent -= costs[chosen[depth]]
            continue
        next_of[depth] = g + 1
        total = spent + costs[g]
        if total >= best:
            continue
        # Take it: either all is covered and this is the best so far, or go deeper if that can still be the best.
        chosen[depth] = g
        for word in range(words):
            left[depth + 1, word] = left[depth, word] & ~masks[first + g, word]
        bit, least_more = _next_bit(left[depth + 1], bits, least)
        if bit < 0:
            best = total
            n_best = depth + 1
            found[:n_best] = chosen[:n_best]
        elif total + least_more < best:
            depth += 1
            bit_of[depth], next_of[depth] = bit, 0
            spent = total
    return best, n_best


@_kernel
def cheapest_covers(pairs, w, price, from_q, to_q, costs, members, is_hosted):  # type: ignore[no-untyped-def]
    """Of each target the cheapest cover at these prices, exactly, over all of them; INFINITE where there is none.

    `members[q]` are the feeders, -1 behind the last; with `is_hosted[q]` the first joins and sends the result.
    """
    words = pairs.masks.shape[1]
    width = members.shape[1]
    room = 1
    for q in range(from_q, to_q):
        room = max(room, pairs.groups[q + 1] - pairs.groups[q])
    sends, remote, hosts = np.empty(room), np.empty(room), np.empty(room)
    sender, far, host = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    depths = 64 * words + 2
    chosen, found = np.empty(depths, np.int64), np.empty(depths, np.int64)
    left, bit_of = np.empty((depths, words), np.uint64), np.empty(depths, np.int64)
    next_of, least = np.empty(depths, np.int64), np.empty(64 * words)
    rest = np.empty(words, np.uint64)
    for q in range(from_q, to_q):
        members[q - from_q] = -1
        first, n = pairs.groups[q], pairs.groups[q + 1] - pairs.groups[q]
        bits = pairs.bits[q]
        best = INFINITE
        # The cheapest feeder of each group, in each of its parts.
        for g in range(n):
            sends[g] = remote[g] = hosts[g] = INFINITE
            size = pairs.sizes[first + g]
            for k in range(pairs.pairs[first + g], pairs.pairs[first + g + 1]):
                v = pairs.feeder[k]
                near = sending_cost(w, v, q, pairs.share[k], size, False) + price[v] + pairs.toll[k]
                if near < sends[g]:
                    sends[g], sender[g] = near, v
                away = sending_cost(w, v, q, pairs.share[k], size, True) + price[v] + pairs.toll[k]
                if away < remote[g]:
                    remote[g], far[g] = away, v
                whole = hosting_cost(w, v, q) + price[v] + pairs.toll[k]
                if whole < hosts[g]:
                    hosts[g], host[g] = whole, v
        # Hosts: alone where they cover everything, or with what others send them.
        _least_for_bits(pairs.masks, first, n, remote, words, bits, least)
        for g in range(n):
            if hosts[g] >= best:
                continue
            is_alone = True
            for word in range(words):
                rest[word] = pairs.full[q, word] & ~pairs.masks[first + g, word]
                is_alone &= rest[word] == _NONE
            if not is_alone and not w.joins_at_sender:
                continue
            cost, count = _search(
                pairs.masks,
                first,
                n,
                remote,
                rest,
                words,
                bits,
                least,
                hosts[g],
                best,
                chosen,
                found,
                left,
                bit_of,
                next_of,
            )
            if count >= 0 and count < width:
                best = cost
                members[q - from_q] = -1
                members[q - from_q, 0] = host[g]
                is_hosted[q - from_q] = True
                for k in range(count):
                    members[q - from_q, 1 + k] = far[found[k]]
        # All send, and q joins.
        _least_for_bits(pairs.masks, first, n, sends, words, bits, least)
        cost, count = _search(
            pairs.masks,
            first,
            n,
            sends,
            pairs.full[q],
            words,
            bits,
            least,
            0.0,
            best,
            chosen,
            found,
            left,
            bit_of,
            next_of,
        )
        if count >= 0 and count <= width:
            best = cost
            members[q - from_q] = -1
            is_hosted[q - from_q] = False
            for k in range(count):
                members[q - from_q, k] = sender[found[k]]
        costs[q - from_q] = best


@_kernel
def covers_within(pairs, w, price, limit, most, from_q, to_q, target, members, is_hosted):  # type: ignore[no-untyped-def]
    """All covers of which none can be left out that cost at most `limit[q]` at these prices, for targets while there is
    room for `most` of one. Gives (how many, the first target not done, how many targets had more than `most`)."""
    words, width = pairs.masks.shape[1], members.shape[1]
    depths = 64 * words + 2
    chosen = np.empty(depths, np.int64)
    left, bit_of = np.empty((depths, words), np.uint64), np.empty(depths, np.int64)
    next_of, least = np.empty(depths, np.int64), np.empty(64 * words)
    room = 1
    for q in range(from_q, to_q):
        room = max(room, pairs.pairs[pairs.groups[q + 1]] - pairs.pairs[pairs.groups[q]])
    who, costs = np.empty(room, np.int32), np.empty(room)
    masks = np.empty((room, words), np.uint64)
    rest, seen = np.empty(words, np.uint64), np.empty(words, np.uint64)
    count, cut = 0, 0
    for q in range(from_q, to_q):
        if count + most > len(target):
            return count, q, cut
        begun, bits = count, pairs.bits[q]
        low, high = pairs.groups[q], pairs.groups[q + 1]
        # mode -1: all send to q; otherwise the pair at that place is the host.
        for mode in range(-1, pairs.pairs[high] - pairs.pairs[low]):
            spent0 = 0.0
            rest[:] = pairs.full[q]
            if mode >= 0:
                if mode > 0 and not w.joins_at_sender and count - begun >= most:
                    break
                at = pairs.pairs[low] + mode
                g = low
                while pairs.pairs[g + 1] <= at:
                    g += 1
                spent0 = hosting_cost(w, pairs.feeder[at], q) + price[pairs.feeder[at]] + pairs.toll[at]
                if spent0 > limit[q]:
                    continue
                is_alone = True
                for word in range(words):
                    rest[word] &= ~pairs.masks[g, word]
                    is_alone &= rest[word] == _NONE
                if is_alone:
                    if count - begun == most:
                        cut += 1
                        break
                    target[count] = q
                    members[count] = -1
                    members[count, 0] = pairs.feeder[at]
                    is_hosted[count] = True
                    count += 1
                    continue
                if not w.joins_at_sender:
                    continue
            # Only feeders that are within the limit by themselves.
            n = 0
            for g in range(low, high):
                for k in range(pairs.pairs[g], pairs.pairs[g + 1]):
                    v = pairs.feeder[k]
                    cost = (
                        price[v]
                        + pairs.toll[k]
                        + sending_cost(w, v, q, pairs.share[k], pairs.sizes[g], mode >= 0)
                    )
                    if spent0 + cost <= limit[q] and k != pairs.pairs[low] + mode:
                        who[n], costs[n], masks[n] = v, cost, pairs.masks[g]
                        n += 1
            _least_for_bits(masks, 0, n, costs, words, bits, least)
            left[0] = rest
            bit, more = _next_bit(left[0], bits, least)
            if spent0 + more > limit[q]:
                continue
            depth, spent = 0, spent0
            bit_of[0], next_of[0] = bit, 0
            while depth >= 0:
                bit = bit_of[depth]
                k = next_of[depth]
                while k < n and not (masks[k, bit >> 6] >> np.uint64(bit & 63) & _ONE):
                    k += 1
                if k == n:
                    depth -= 1
                    if depth >= 0:
                        spent -= costs[chosen[depth]]
                    continue
                next_of[depth] = k + 1
                total = spent + costs[k]
                if total > limit[q]:
                    continue
                chosen[depth] = k
                for word in range(words):
                    left[depth + 1, word] = left[depth, word] & ~masks[k, word]
                bit, more = _next_bit(left[depth + 1], bits, least)
                if bit >= 0:
                    if total + more <= limit[q]:
                        depth += 1
                        bit_of[depth], next_of[depth] = bit, 0
                        spent = total
                    continue
                # A feeder without which the others are a cover makes it none of ours.
                is_minimal = True
                for out in range(depth + 1):
                    seen[:] = rest
                    for other in range(depth + 1):
                        if other != out:
                            for word in range(words):
                                seen[word] &= ~masks[chosen[other], word]
                    is_covered = True
                    for word in range(words):
                        is_covered &= seen[word] == _NONE
                    is_minimal &= not is_covered
                hosted = 1 if mode >= 0 else 0
                if hosted:
                    # Nor one that only passes on what the others cover without it.
                    seen[:] = pairs.full[q]
                    for other in range(depth + 1):
                        for word in range(words):
                            seen[word] &= ~masks[chosen[other], word]
                    is_covered = True
                    for word in range(words):
                        is_covered &= seen[word] == _NONE
                    is_minimal &= not is_covered
                if not is_minimal or depth + 1 + hosted > width:
                    continue
                if count - begun == most:
                    cut += 1
                    depth = -1
                    break
                target[count] = q
                members[count] = -1
                is_hosted[count] = mode >= 0
                if mode >= 0:
                    members[count, 0] = pairs.feeder[pairs.pairs[low] + mode]
                for out in range(depth + 1):
                    members[count, hosted + out] = who[chosen[out]]
                count += 1
            if count - begun == most:
                break
    return count, to_q, cut


@_kernel
def cost_of_covers(pairs, w, target, members, is_hosted, costs):  # type: ignore[no-untyped-def]
    """What each of these covers costs, without prices for feeding."""
    for c in range(len(target)):
        q = target[c]
        total = 0.0
        for at in range(members.shape[1]):
            v = members[c, at]
            if v < 0:
                break
            if at == 0 and is_hosted[c]:
                total += hosting_cost(w, v, q)
                continue
            for g in range(pairs.groups[q], pairs.groups[q + 1]):
                # Feeders of a group are sorted.
                low, high = pairs.pairs[g], pairs.pairs[g + 1]
                k = low + np.searchsorted(pairs.feeder[low:high], v)
                if k < high and pairs.feeder[k] == v:
                    total += sending_cost(w, v, q, pairs.share[k], pairs.sizes[g], is_hosted[c])
                    break
        costs[c] = total
