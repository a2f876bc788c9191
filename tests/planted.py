"""Models whose truth is known, to hold every finding of a diagnosis against.

A truth is `fine`, `wrong` or `open` for each finding. A finding marked good where the truth is not
fine is a false reassurance; one marked bad where it is not wrong is a false alarm.
"""

import math
from dataclasses import dataclass, field
from functools import cache

import torch

from unpick.diagnosis import diagnose

TITLES = ("Latents", "Alignment", "Posterior variances", "Beta", "Local linearity")
SHORT = {"f": "fine", "w": "wrong", "o": "open"}


@dataclass(frozen=True, eq=False)
class Plant:
    """A model, and the truth about it.

    Attributes:
        encode: Its encoder.
        decode: Its decoder.
        x: Observations.
        truth: A letter for each of `TITLES`.
        words: The verdicts on alignment that are right.
        beta: The verdicts on beta that are right.
        active: How many latents are in use; None if that is open.
        options: Of `diagnose`.
    """

    encode: object
    decode: object
    x: torch.Tensor
    truth: str
    words: tuple = (None,)
    beta: tuple = ("undecided",)
    active: int | None = None
    options: dict = field(default_factory=dict)

    def expected(self, title):
        if title == "Factors":
            return "wrong" if "over-pruned" in self.beta else "fine"
        return SHORT[self.truth[TITLES.index(title)]] if title in TITLES else "wrong"


def linear(lengths, turn=None, beta=0.5, n=400, outputs=None, variance=None, seed=0):
    """The linear VAE at the optimum for its decoder W = U diag(lengths) turn^T.

    Observations are drawn from the model itself. `variance` changes what the encoder says of its
    log-variances.
    """
    generator = torch.Generator().manual_seed(seed)
    d = len(lengths)
    outputs = outputs or d + 3
    u, _ = torch.linalg.qr(torch.randn(outputs, d, generator=generator))
    w = u * torch.tensor(lengths)
    w = w if turn is None else w @ turn.T
    z = torch.randn(n, d, generator=generator)
    x = z @ w.T + math.sqrt(beta / 2) * torch.randn(n, outputs, generator=generator)
    into = torch.linalg.solve(w.T @ w + beta / 2 * torch.eye(d), w.T)
    log_variance = -(1 + 2 * w.square().sum(0) / beta).log()
    if variance is not None:
        log_variance = variance(log_variance)

    def encode(x):
        mean = x @ into.T
        return mean, log_variance.expand_as(mean)

    return encode, lambda z: z @ w.T, x


def plane(degrees):
    angle = math.radians(degrees)
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, -s], [s, c]])


def random_turn(d, seed=3):
    return torch.linalg.qr(torch.randn(d, d, generator=torch.Generator().manual_seed(seed)))[0]


def geometric(high, low, d):
    return torch.logspace(math.log10(high), math.log10(low), d).tolist()


def pairs_of_256():
    """Twenty pairs of 256 latents have columns at a cosine of 0.87."""
    ratio = math.sqrt((1 + 0.87) / (1 - 0.87))
    lengths = geometric(8, 4, 256)
    turn = torch.eye(256)
    for k in range(20):
        a, b = 2 * k, 2 * k + 1
        lengths[b] = lengths[a] / ratio
        turn[[a, a, b, b], [a, b, a, b]] = plane(45).flatten()
    return linear(lengths, turn, 4.0, outputs=300)


def channels(grid):
    """Four channels at 8 x 8 locations with pixels of their own; 0 and 1 at a cosine of 0.85."""
    generator = torch.Generator().manual_seed(4)
    u, _ = torch.linalg.qr(torch.randn(6, 4, generator=generator))
    block = u * torch.tensor([2.0, 2.0, 1.2, 0.8])
    block[:, 1] = 0.85 * block[:, 0] + math.sqrt(1 - 0.85**2) * block[:, 1]
    beta = 0.05
    z = torch.randn(300, 64, 4, generator=generator)
    x = z @ block.T + math.sqrt(beta / 2) * torch.randn(300, 64, 6, generator=generator)
    into = torch.linalg.solve(block.T @ block + beta / 2 * torch.eye(4), block.T)
    log_variance = -(1 + 2 * block.square().sum(0) / beta).log()

    def encode(x):
        mean = (x @ into.T).mT.reshape(-1, 4, 8, 8)
        spread = log_variance[:, None, None].expand_as(mean)
        return (mean, spread) if grid else (mean.flatten(1), spread.flatten(1))

    def decode(z):
        return z.reshape(len(z), 4, 64).mT @ block.T

    return encode, decode, x


def trained(steps):
    """A linear VAE after some steps of Adam, with the analytic loss."""
    _, _, x = linear([3.0, 2.0, 1.0], beta=0.1, n=300)
    generator = torch.Generator().manual_seed(5)
    w = (0.5 * torch.randn(6, 3, generator=generator)).requires_grad_()
    into = (0.3 * torch.randn(3, 6, generator=generator)).requires_grad_()
    spread = torch.zeros(3).requires_grad_()
    optimiser = torch.optim.Adam([w, into, spread], 0.02)
    for _ in range(steps):
        mean = x @ into.T
        error = (x - mean @ w.T).square().sum(1).mean() + (w.square().sum(0) * spread.exp()).sum()
        kl = 0.5 * (mean.square().mean(0) + spread.exp() - spread - 1).sum()
        optimiser.zero_grad()
        (error + 0.1 * kl).backward()
        optimiser.step()
    w, into, spread = w.detach(), into.detach(), spread.detach()
    return lambda x: (x @ into.T, spread.expand(len(x), 3)), lambda z: z @ w.T, x


def circles(speed, deviation):
    """Each latent turns a circle of its own: columns are orthogonal everywhere."""
    generator = torch.Generator().manual_seed(6)
    z = 0.8 * torch.randn(400, 3, generator=generator)
    lengths = torch.tensor([3.0, 2.0, 1.0])

    def decode(z):
        angle = speed * z
        return torch.cat([lengths * angle.cos(), lengths * angle.sin()], 1) / speed

    x = decode(z)

    def encode(x):  # the angles, unwrapped within half a turn
        angle = torch.atan2(x[:, 3:], x[:, :3]) / speed
        curvature = 2 * lengths.square()
        return angle, (-(1 + curvature / deviation).log()).expand_as(angle)

    return encode, decode, x


def sheared():
    """Where the first latent is positive, it moves the second's output, too."""
    encode, decode, x = linear([3.0, 1.5], beta=0.05)
    w = decode(torch.eye(2)).T

    def bend(z, by):
        return torch.stack([z[:, 0], z[:, 1] + by * z[:, 0].relu()], 1)

    def unbend(x):
        z = bend(x @ torch.linalg.pinv(w).T, -2)
        return z, torch.full_like(z, -5.0)

    return unbend, lambda z: bend(z, 2) @ w.T, bend(encode(x)[0], 2) @ w.T


def over_pruned():
    """Three directions of variance; at beta 4 the optimum uses the first two."""
    generator = torch.Generator().manual_seed(7)
    u, _ = torch.linalg.qr(torch.randn(6, 3, generator=generator))
    factors = torch.randn(400, 3, generator=generator)
    x = factors * torch.tensor([3.2, 2.4, 1.2]) @ u.T
    encode, decode, _ = at_optimum(u, torch.tensor([3.2**2, 2.4**2, 1.2**2, 0.0]), 4.0)
    return encode, decode, x, factors


def at_optimum(u, variances, beta):
    """The linear VAE for data with these principal directions and variances."""
    w = torch.zeros(len(u), len(variances))
    lengths = (variances - beta / 2).clamp(min=0).sqrt()
    w[:, : u.shape[1]] = u * lengths[: u.shape[1]]
    into = torch.linalg.solve(w.T @ w + beta / 2 * torch.eye(len(lengths)), w.T)
    log_variance = -(1 + 2 * lengths.square() / beta).log()
    return lambda x: (x @ into.T, log_variance.expand(len(x), -1)), lambda z: z @ w.T, w


def full_covariance():
    turn = plane(37)
    encode, decode, x = linear([3.0, 1.0], turn, 0.05)
    w = decode(torch.eye(2)).T
    factor = torch.linalg.cholesky(torch.linalg.inv(torch.eye(2) + 2 * w.T @ w / 0.05))
    return lambda x: (encode(x)[0], factor.expand(len(x), 2, 2)), decode, x


@cache
def plants():
    """All of them by name."""
    aligned = linear([3.0, 2.0, 1.0])
    passive = linear([3.0, 2.0, 1.0, 0.0])
    *missed, factors = over_pruned()
    half = torch.eye(10)
    half[5:, 5:] = random_turn(5)
    wide, deep = geometric(8, 4, 256), 4.0
    uneven = [length / (1 + k % 2) for k, length in enumerate(wide)]
    ae = linear(geometric(4, 1, 6), random_turn(6))
    ignoring = linear([3.0, 2.0, 1.0])
    equal = linear([2.0] * 4, random_turn(4), 0.05)
    logits = linear([3.0, 2.0, 1.0])
    pixels = (logits[2] - logits[2].min()) / (logits[2].max() - logits[2].min())
    right, small = ("right",), ("too small",)
    green, never = ("aligned",), ("partly aligned", "not aligned")
    return {
        "aligned": Plant(*aligned, "fffff", green, right, 3, {"beta": 0.5}),
        "aligned, one latent passive, 3 factors known": Plant(
            *passive, "fffff", green, right, 3, {"factors": passive[0](passive[2])[0][:, :3]}
        ),
        "aligned, one latent passive, factors unknown": Plant(*passive, "fffof", green, active=3),
        "aligned, beta far too small for pruning": Plant(
            *linear([3.0, 2.0, 1.0], beta=1e-4), "fffff", green, right, 3
        ),
        "turned by 5 degrees": Plant(
            *linear([3.0, 1.0], plane(5), 0.02), "fffff", green, right, 2
        ),
        "turned by 15 degrees": Plant(
            *linear([3.0, 1.0], plane(15), 0.02), "fwfwf", never[:1], small, 2
        ),
        "turned by 45 degrees": Plant(
            *linear([3.0, 1.0], plane(45), 0.02), "fwfwf", never[1:], small, 2
        ),
        "6 latents, turned at random": Plant(
            *linear(geometric(4, 1, 6), random_turn(6), 0.01), "fwfwf", never[1:], small, 6
        ),
        "half of 10 latents aligned": Plant(
            *linear(geometric(6, 1, 10), half, 0.02), "fwfwf", never[:1], small, 10
        ),
        "256 latents, aligned": Plant(
            *linear(wide, None, deep, outputs=300), "fffff", green, right, 256
        ),
        "256 latents, each turned by 15 degrees with a neighbour": Plant(
            *linear(uneven, torch.block_diag(*[plane(15)] * 128), deep, outputs=300),
            "fwfwf",
            never,
            small,
            256,
        ),
        "256 latents, 20 pairs at cosine 0.87": Plant(
            *pairs_of_256(), "fwfwf", never, (*small, "right"), 256
        ),
        "256 latents, turned at random": Plant(
            *linear(wide, random_turn(256), deep, outputs=300), "fwfwf", never[1:], small, 256
        ),
        "4 channels at 8 x 8, flattened, 0 and 1 at 0.85": Plant(
            *channels(grid=False), "fwfwf", never, small, 256
        ),
        "4 channels at 8 x 8, 0 and 1 at 0.85": Plant(
            *channels(grid=True), "fwfwf", never, small, 4
        ),
        "equal lengths, any axes would do": Plant(*equal, "fofof", ("undecided",), active=4),
        "curved, orthogonal everywhere": Plant(*circles(1.0, 0.05), "fffff", green, right, 3),
        "sheared in half of the space": Plant(
            *sheared(),
            "fwwof",
            never,
            ("too small", "undecided"),
            2,
        ),
        "bent within the posterior": Plant(
            *circles(1.5, 40.0), "fooow", ("aligned", *never), ("right", "undecided"), None
        ),
        "collapsed": Plant(*linear([1e-9] * 3), "woowo", beta=("over-pruned",), active=0),
        "over-pruned, 3 factors known": Plant(
            *missed,
            "fffwf",
            green,
            ("over-pruned",),
            2,
            {"factors": factors},
        ),
        "over-pruned, factors unknown": Plant(*missed, "fffwf", green, active=2),
        "beta too small, turned": Plant(
            *linear([3.0, 2.0, 1.0], random_turn(3), 1e-4), "fwfwf", never, small, 3
        ),
        "variance head permuted": Plant(
            *linear(geometric(6, 0.5, 6), beta=0.05, variance=lambda v: v.flip(0)),
            "ffwwf",
            green,
            active=6,
        ),
        "variance head gives deviations": Plant(
            *linear([3.0, 2.0, 1.0], variance=lambda v: (v / 2).exp()), "ffwwf", green, active=3
        ),
        "variance head gives log-deviations, beta given": Plant(
            *linear([6.0, 3.0, 1.0], beta=0.01, variance=lambda v: v / 2),
            "ffwwf",
            green,
            ("right", "undecided"),
            3,
            {"beta": 0.01},
        ),
        "stopped after 30 steps": Plant(
            *trained(30), "fwwwf", never, ("undecided", "too small", "over-pruned"), None
        ),
        "autoencoder, turned": Plant(
            lambda x: ae[0](x)[0], ae[1], ae[2], "fwooo", never[1:], ("absent",), 6
        ),
        "autoencoder, aligned": Plant(
            lambda x: aligned[0](x)[0], *aligned[1:], "ffooo", green, ("absent",), 3
        ),
        "full covariance, turned": Plant(*full_covariance(), "fwfof", never, active=2),
        "decoder gives a constant": Plant(
            aligned[0], lambda z: torch.full((len(z), 6), 0.5) + 0 * z[:, :1], aligned[2], "wwwww"
        ),
        "decoder rounds": Plant(aligned[0], lambda z: aligned[1](z).round(), aligned[2], "wwwww"),
        "decoder casts to integers": Plant(
            lambda x: aligned[0](x / 20),
            lambda z: (20 * aligned[1](z)).int(),
            20 * aligned[2],
            "wwwww",
        ),
        "decoder ignores an active latent": Plant(
            ignoring[0],
            lambda z: ignoring[1](z * torch.tensor([1.0, 1.0, 0.0])),
            ignoring[2],
            "wffof",
            green,
            ("right", "undecided"),
            2,
        ),
        "x ten times as large as in training": Plant(
            lambda x: (aligned[0](x)[0].clamp(-2.5, 2.5), aligned[0](x)[1]),
            aligned[1],
            10 * aligned[2],
            "wffof",
            green,
            ("right", "undecided"),
        ),
        "decoder gives logits": Plant(
            logits[0], lambda z: 8 * logits[1](z), pixels, "wowwo", green, ("undecided", "right")
        ),
    }


@cache
def diagnosed(name):
    plant = plants()[name]
    points = 6 if plant.active == 256 else 100
    return diagnose(
        plant.encode, plant.decode, plant.x, show=False, points=points, **plant.options
    )


def judged(name):
    """For each title the mark, and whether it is a false reassurance or a false alarm."""
    plant, found = plants()[name], diagnosed(name)
    rows = {}
    for finding in found.findings:
        truth = plant.expected(finding.title)
        false = ""
        if finding.mark == "good" and truth != "fine":
            false = "false reassurance"
        elif finding.mark == "bad" and truth != "wrong":
            false = "false alarm"
        rows[finding.title] = (finding.mark, truth, false)
    return rows


def table():
    """The marks of every plant as Markdown, with the counts of what is false."""
    head = ["planted model", "latents", "alignment", "variances", "beta", "linearity"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    count = {"false reassurance": 0, "false alarm": 0, "": 0}
    for name in plants():
        rows = judged(name)
        for _, _, false in rows.values():
            count[false] += 1
        cells = []
        for title in TITLES:
            mark, _, false = rows.get(title, ("-", "", ""))
            cells.append(f"{mark} (**{false}**)" if false else mark)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    total = sum(count.values())
    told = f"{len(plants())} models, {total} findings: {count['false reassurance']} false "
    told += f"reassurances, {count['false alarm']} false alarms."
    return "\n".join(lines), told


def drawn(seed):
    """A linear VAE drawn at random: its largest turn in degrees, and the verdict on its axes.

    2 to 12 latents; neighbours in length differ by a factor of 1.3 to 2. Every second model has
    one or more pairs of neighbours turned by one angle of 0 to 45 degrees, each other one all.
    """
    generator = torch.Generator().manual_seed(seed)
    d = 2 * int(torch.randint(1, 7, (1,), generator=generator))
    lengths = (1.3 + 0.7 * torch.rand(d, generator=generator)).cumprod(0).tolist()
    degrees = float(45 * torch.rand(1, generator=generator))
    count = d // 2 if seed % 2 else int(torch.randint(1, d // 2 + 1, (1,), generator=generator))
    turn = torch.block_diag(*[plane(degrees)] * count, *[torch.eye(2)] * (d // 2 - count))
    model = linear(lengths, turn, 0.01, n=60, seed=seed)
    return degrees, diagnose(*model, show=False, points=5).axes.word


def count_drawn(models):
    """How many random models with a turn of 15 degrees or more are called aligned, and so on."""
    found = [drawn(seed) for seed in range(2000, 2000 + models)]
    turned = [word for degrees, word in found if degrees >= 15]
    straight = [word for degrees, word in found if degrees <= 2]
    told = f"{turned.count('aligned')} of {len(turned)} models with axes turned by 15 degrees or "
    told += f"more were called aligned, and {straight.count('not aligned')} of {len(straight)} "
    return told + "turned by 2 degrees at most were called not aligned."


if __name__ == "__main__":
    print(*table(), count_drawn(300), sep="\n\n")
