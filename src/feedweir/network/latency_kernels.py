"""Compiled search for quicker fillings: when each view has what was published, and what it could be filled from sooner.

    members   v: | u1 | u2 | -1 | …      what view v is filled from; -1 in the first place where that are its sources
    fed       u: first edge -> next -> next …      edges (v, place) that lead away from u, as lists in both directions

Views are numbered one by one here, equal ones too, because each stands at a site of its own; which views can serve
which, and what that costs, is known of their kinds (`cover_kernels`).
"""

from __future__ import annotations

import numpy as np

from feedweir.kernels import njit
from feedweir.network.cover_kernels import INFINITE, _least_for_bits, _search, hosting_cost, sending_cost

_kernel = njit(cache=True)
_part = njit()
_ONE = np.uint64(1)
MS_PER_KM = 0.01
"""Light in a cable goes 200 km in a millisecond; cables are about twice as long as the way is."""
_TINY = 1e-9


@_part
def _delay(net, u, v):  # type: ignore[no-untyped-def]
    """Milliseconds that v's result takes from u's site to v's."""
    way = MS_PER_KM * np.hypot(net.x[u] - net.x[v], net.y[u] - net.y[v])
    return net.delay[u] + net.delay[v] + way + 1e3 * net.size[v] / min(net.speed[u], net.speed[v])


@_part
def _latency(net, ways, v):  # type: ignore[no-untyped-def]
    """(when v has what it is filled from, the feeder that it waits for longest; -1 for a source)"""
    if ways.members[v, 0] < 0:
        return net.direct_ms[v], -1
    latest, critical = 0.0, np.int32(-1)
    host = ways.members[v, 0]
    for place in range(ways.members.shape[1]):
        u = ways.members[v, place]
        if u < 0:
            break
        at = ways.latency[u]
        if not ways.is_hosted[v]:
            at += _delay(net, u, v)
        elif place:
            at += _delay(net, u, host)
        if at > latest or critical < 0:
            latest, critical = at, u
    return (latest + _delay(net, host, v) if ways.is_hosted[v] else latest), critical


@_part
def _link(ways, v, sign):  # type: ignore[no-untyped-def]
    """Enter v's edges into its feeders' lists, or take them out."""
    width = ways.members.shape[1]
    if ways.members[v, 0] < 0:
        ways.direct[0] += sign
    for place in range(width):
        u = ways.members[v, place]
        if u < 0:
            break
        edge = np.int64(v) * width + place
        ways.fed[u] += sign
        if sign > 0:
            after = ways.first[u]
            ways.next[edge], ways.before[edge] = after, -1
            if after >= 0:
                ways.before[after] = edge
            ways.first[u] = edge
        else:
            before, after = ways.before[edge], ways.next[edge]
            if before >= 0:
                ways.next[before] = after
            else:
                ways.first[u] = after
            if after >= 0:
                ways.before[after] = before


@_kernel
def settle(net, ways, order):  # type: ignore[no-untyped-def]
    """Enter all edges, and work out the latency and the level of all views, which come in the order of filling."""
    ways.first[:] = -1
    ways.fed[:] = 0
    ways.direct[0] = 0
    for v in order:
        _link(ways, v, 1)
        ways.latency[v], _ = _latency(net, ways, v)
        ways.level[v] = 0
        for place in range(ways.members.shape[1]):
            if ways.members[v, place] < 0:
                break
            ways.level[v] = max(ways.level[v], ways.level[ways.members[v, place]])
        ways.level[v] += 1


@_part
def _settle_below(net, ways, start, waiting, is_waiting, changed, old):  # type: ignore[no-untyped-def]
    """Work out anew what changes when `start` does. Gives how many views changed: `changed`, with latencies before."""
    count, head, tail = 0, 0, 1
    waiting[0] = start
    is_waiting[start] = True
    room = len(waiting)
    while head < tail:
        v = waiting[head % room]
        head += 1
        is_waiting[v] = False
        now, _ = _latency(net, ways, v)
        if abs(now - ways.latency[v]) <= _TINY:
            continue
        if count == len(changed):
            return -1 - count
        changed[count], old[count] = v, ways.latency[v]
        count += 1
        ways.latency[v] = now
        edge = ways.first[v]
        while edge >= 0:
            below = edge // ways.members.shape[1]
            if not is_waiting[below]:
                is_waiting[below] = True
                waiting[tail % room] = below
                tail += 1
            edge = ways.next[edge]
    return count


@_part
def _is_fed_by(ways, above, v, stack, seen, stamp):  # type: ignore[no-untyped-def]
    """Whether v is filled from `above`, directly or by way of others. Whoever has it earlier than `above` is not."""
    if v == above:
        return True
    if ways.latency[v] < ways.latency[above]:
        return False
    stack[0] = v
    seen[v] = stamp
    count = 1
    while count:
        count -= 1
        at = stack[count]
        for place in range(ways.members.shape[1]):
            u = ways.members[at, place]
            if u < 0:
                break
            if u == above:
                return True
            if seen[u] != stamp and ways.latency[u] >= ways.latency[above]:
                seen[u] = stamp
                stack[count] = u
                count += 1
    return False


@_kernel
def dependants(net, ways, order, weight):  # type: ignore[no-untyped-def]
    """Of each view how many have what was published later by as much as it has: itself, and all that wait for it
    longest. `order` is that of filling."""
    weight[:] = 1.0
    for at in range(len(order) - 1, -1, -1):
        v = order[at]
        _, critical = _latency(net, ways, v)
        if critical >= 0:
            weight[critical] += weight[v]


@_part
def _candidates(net, pairs, w, ways, room, rule, q, eviction, without, price, now, spare):  # type: ignore[no-untyped-def]
    """Equal views, which serve alone, then all of the kinds that serve in part. Gives how many there are."""
    kind = net.kind_of[q]
    words = pairs.masks.shape[1]
    n = 0
    for at in range(net.starts[kind], net.starts[kind + 1]):
        u = net.by_kind[at]
        if u != q and u != without:
            n = _offered(net, ways, room, rule, q, u, -1, net.copy_cost[kind], eviction, price, now, spare, n)
    for g in range(pairs.groups[kind], pairs.groups[kind + 1]):
        is_whole = True
        for word in range(words):
            is_whole &= pairs.masks[g, word] == pairs.full[kind, word]
        for k in range(pairs.pairs[g], pairs.pairs[g + 1]):
            other = pairs.feeder[k]
            cost = sending_cost(w, other, kind, pairs.share[k], pairs.sizes[g], False)
            if is_whole:
                cost = min(cost, hosting_cost(w, other, kind))
            for at in range(net.starts[other], net.starts[other + 1]):
                u = net.by_kind[at]
                if u != without:
                    n = _offered(
                        net,
                        ways,
                        room,
                        rule,
                        q,
                        u,
                        g - pairs.groups[kind],
                        cost,
                        eviction,
                        price,
                        now,
                        spare,
                        n,
                    )
    return n


@_part
def _best_filling(net, pairs, w, ways, room, rule, q, eviction, without, price, now, spare, found):  # type: ignore[no-untyped-def]
    """What q is best filled from: (what that costs with the price of its latency, its cost, its latency, is it hosted,
    how many feeders). `found` gets the feeders; none where it is filled from its sources.

    Only what is better than `now` is looked for. `price` is what a millisecond of q's weighs. With `rule.is_quickest`
    the quickest filling wins, and among those the cheapest. Feeders that have no room left can be had for the price of
    an eviction, one of them at most.
    """
    kind = net.kind_of[q]
    words = pairs.masks.shape[1]
    bits = pairs.bits[kind]
    first, n_groups = pairs.groups[kind], pairs.groups[kind + 1] - pairs.groups[kind]
    n = _candidates(net, pairs, w, ways, room, rule, q, eviction, without, price, now, spare)
    order = np.argsort(spare.at[:n], kind="mergesort")
    best, cost_of_best, at_of_best, count_of_best = now, INFINITE, INFINITE, -1
    has_room = ways.members[q, 0] < 0 or ways.direct[0] < rule.most_direct
    if has_room and not rule.is_quickest:
        total = net.direct_cost[kind] + price * net.direct_ms[q]
        if total < best:
            best, cost_of_best, at_of_best, count_of_best = total, net.direct_cost[kind], net.direct_ms[q], 0
    spare.least[:n_groups] = INFINITE
    for word in range(words):
        spare.rest[word] = pairs.full[kind, word]
    is_covered = False
    k = 0
    while k < n:
        # All candidates that come at the same time are looked at together.
        at = spare.at[order[k]]
        if rule.is_quickest:
            if at > best + _TINY or (count_of_best < 0 and at > best - _TINY):
                break
        elif price * at >= best - _TINY:
            break
        is_better = False
        while k < n and spare.at[order[k]] <= at:
            c = order[k]
            k += 1
            g, cost = spare.group[c], spare.cost[c]
            if g < 0:
                total = at if rule.is_quickest else cost + price * at
                if total < best - _TINY or (
                    rule.is_quickest and total < best + _TINY and cost < cost_of_best
                ):
                    best, cost_of_best, at_of_best, count_of_best = total, cost, at, 1
                    found[0] = spare.candidate[c]
            elif cost < spare.least[g]:
                spare.least[g], spare.sender[g] = cost, spare.candidate[c]
                is_better = True
                if not is_covered:
                    is_covered = True
                    for word in range(words):
                        spare.rest[word] &= ~pairs.masks[first + g, word]
                        is_covered &= spare.rest[word] == np.uint64(0)
        if not is_better or not is_covered:
            continue
        limit = cost_of_best if rule.is_quickest and at_of_best <= at else INFINITE
        if not rule.is_quickest:
            limit = best - price * at
        _least_for_bits(pairs.masks, first, n_groups, spare.least, words, bits, spare.bit_least)
        cost, count = _search(
            pairs.masks,
            first,
            n_groups,
            spare.least,
            pairs.full[kind],
            words,
            bits,
            spare.bit_least,
            0.0,
            limit,
            spare.chosen,
            spare.cover,
            spare.left,
            spare.bit_of,
            spare.next_of,
        )
        if count <= 0 or count > len(found) or cost >= limit:
            continue
        evicted = 0
        for j in range(count):
            evicted += _is_full(ways, room, q, spare.sender[spare.cover[j]])
        if evicted > 1:
            continue
        for j in range(count):
            found[j] = spare.sender[spare.cover[j]]
        best = at if rule.is_quickest else cost + price * at
        cost_of_best, at_of_best, count_of_best = cost, at, count
    return best, cost_of_best, at_of_best, count_of_best == 1, count_of_best


@_part
def _is_full(ways, room, q, u):  # type: ignore[no-untyped-def]
    """Whether u can feed no more, unless it feeds q already."""
    if ways.fed[u] < room[u]:
        return False
    for place in range(ways.members.shape[1]):
        if ways.members[q, place] == u:
            return False
        if ways.members[q, place] < 0:
            break
    return True


@_part
def _offered(net, ways, room, rule, q, u, g, cost, eviction, price, now, spare, n):  # type: ignore[no-untyped-def]
    """Take u among the candidates if it is better than what is now, has room, and is not filled from q."""
    at = ways.latency[u] + _delay(net, u, q)
    if (at if rule.is_quickest else cost + price * at) >= now - _TINY:
        return n
    if _is_full(ways, room, q, u):
        cost += eviction[u]
        if cost >= INFINITE:
            return n
    if ways.latency[u] >= ways.latency[q]:
        spare.stamp[0] += 1
        if _is_fed_by(ways, q, u, spare.stack, spare.seen, spare.stamp[0]):
            return n
    spare.candidate[n], spare.group[n], spare.cost[n], spare.at[n] = u, g, cost, at
    return n + 1


@_part
def _fill(net, ways, v, feeders, count, is_hosted, cost, trail):  # type: ignore[no-untyped-def]
    """Fill v from other feeders; what was before is entered in the trail. Whether there is no circle."""
    at = trail.moves[0]
    trail.refilled[at], trail.cost[at], trail.is_hosted[at] = v, ways.cost[v], ways.is_hosted[v]
    trail.members[at] = ways.members[v]
    trail.moves[0] = at + 1
    _link(ways, v, -1)
    ways.members[v] = -1
    ways.members[v, :count] = feeders[:count]
    ways.is_hosted[v], ways.cost[v] = is_hosted, cost
    _link(ways, v, 1)
    begun = trail.changes[0]
    more = _settle_below(
        net, ways, v, trail.waiting, trail.is_waiting, trail.changed[begun:], trail.latency[begun:]
    )
    trail.changes[0] = begun + (more if more >= 0 else -1 - more)
    return more >= 0


@_part
def _undo(ways, trail):  # type: ignore[no-untyped-def]
    for at in range(trail.changes[0] - 1, -1, -1):
        ways.latency[trail.changed[at]] = trail.latency[at]
    for at in range(trail.moves[0] - 1, -1, -1):
        v = trail.refilled[at]
        _link(ways, v, -1)
        ways.members[v] = trail.members[at]
        ways.cost[v], ways.is_hosted[v] = trail.cost[at], trail.is_hosted[at]
        _link(ways, v, 1)
    trail.is_waiting[:] = False


@_part
def _gained(ways, trail, a_ms):  # type: ignore[no-untyped-def]
    """(how much cost and latency change by what is in the trail, how much the cost does)"""
    cost = 0.0
    for at in range(trail.moves[0]):
        is_first = True
        for other in range(at):
            is_first &= trail.refilled[other] != trail.refilled[at]
        if is_first:
            cost += ways.cost[trail.refilled[at]] - trail.cost[at]
    # A view may have changed twice: only what it was at first, and is now, counts.
    late = 0.0
    for at in range(trail.changes[0] - 1, -1, -1):
        v = trail.changed[at]
        trail.earlier[v] = trail.latency[at]
    for at in range(trail.changes[0]):
        v = trail.changed[at]
        if trail.earlier[v] >= 0:
            late += ways.latency[v] - trail.earlier[v]
            trail.earlier[v] = -1.0
    return cost + a_ms * late, cost


@_kernel
def find_evictions(net, pairs, w, ways, room, rule, weight, a_ms, none, spare, found, eviction, victim):  # type: ignore[no-untyped-def]
    """Of each view that can feed no more the one it feeds that loses least by another filling, and that loss."""
    eviction[:], victim[:] = INFINITE, -1
    width = ways.members.shape[1]
    for u in range(len(room)):
        if ways.fed[u] < room[u]:
            continue
        edge = ways.first[u]
        while edge >= 0:
            v = np.int32(edge // width)
            price = a_ms * weight[v]
            best, _, _, _, count = _best_filling(
                net, pairs, w, ways, room, rule, v, none, u, price, INFINITE, spare, found
            )
            loss = max(0.0, best - ways.cost[v] - price * ways.latency[v])
            if count >= 0 and loss < eviction[u]:
                eviction[u], victim[u] = loss, v
            edge = ways.next[edge]


@_kernel
def improve(  # type: ignore[no-untyped-def]
    net, pairs, w, ways, room, rule, order, weight, a_ms, left, none, eviction, victim, spare, trail, found
):
    """Fill views otherwise, in this order, wherever that makes cost and latency together less, and costs no more than
    is left. With `rule.is_quickest` latency alone counts. Gives (how many were, what is left)."""
    moved = 0
    for q in order:
        if rule.is_quickest and ways.members[q, 0] < 0:
            continue
        price = a_ms * weight[q]
        now = ways.latency[q] if rule.is_quickest else ways.cost[q] + price * ways.latency[q]
        _, cost, _, is_hosted, count = _best_filling(
            net, pairs, w, ways, room, rule, q, eviction, -1, price, now, spare, found[0]
        )
        if count < 0:
            continue
        trail.moves[0] = trail.changes[0] = 0
        is_good, full = True, np.int32(-1)
        for j in range(count):
            if _is_full(ways, room, q, found[0, j]):
                full = found[0, j]
        if full >= 0:
            cost -= eviction[full]
            v = victim[full]
            if v < 0 or v == q:
                continue
            is_fed = False
            for place in range(ways.members.shape[1]):
                is_fed |= ways.members[v, place] == full
            if not is_fed:
                continue
            _, other_cost, _, other_hosted, other_count = _best_filling(
                net, pairs, w, ways, room, rule, v, none, full, a_ms * weight[v], INFINITE, spare, found[1]
            )
            if other_count < 0:
                continue
            is_good = _fill(net, ways, v, found[1], other_count, other_hosted, other_cost, trail)
            for j in range(count):
                u = found[0, j]
                spare.stamp[0] += 1
                is_good &= not _is_full(ways, room, q, u)
                is_good &= not _is_fed_by(ways, q, u, spare.stack, spare.seen, spare.stamp[0])
        if is_good:
            is_good = _fill(net, ways, q, found[0], count, is_hosted, cost, trail)
        total, more = _gained(ways, trail, a_ms)
        if rule.is_quickest:
            total = total - more
        if not is_good or total >= -_TINY or (not rule.is_quickest and more > max(left, 0.0)):
            _undo(ways, trail)
            continue
        left -= more
        moved += 1
    return moved, left
