"""The shifted power Bregman loss in many digits, from its closed form and from its definition."""

import mpmath as mp


def closed_form(q, p, alpha, epsilon):
    """The loss as mpmath number; q and p may be mpmath numbers too. Alpha must not be exact 1 or 2
    in the general form, so these have their own."""
    big_q, big_p = mp.mpf(q) + mp.mpf(epsilon), mp.mpf(p) + mp.mpf(epsilon)
    a = mp.mpf(alpha)
    if a == 1:
        return big_p - big_q - big_q * mp.log(big_p / big_q)
    if a == 2:
        return big_q / big_p - mp.log(big_q / big_p) - 1
    first = (big_p ** (2 - a) - big_q ** (2 - a)) / (2 - a)
    return first - big_q * (big_p ** (1 - a) - big_q ** (1 - a)) / (1 - a)


def by_quadrature(q, p, alpha, epsilon):
    """The loss as an integral of the distance to the truth times the weight."""
    q, p, a, e = mp.mpf(q), mp.mpf(p), mp.mpf(alpha), mp.mpf(epsilon)
    low, high = min(q, p), max(q, p)
    return mp.quad(lambda t: abs(t - q) * (t + e) ** (-a), mp.linspace(low, high, 9))


def shape(delta, alpha):
    """g_alpha(delta), the loss at q = 1 without a shift."""
    return closed_form(1, mp.exp(mp.mpf(delta)), alpha, 0)
