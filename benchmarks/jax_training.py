"""The beta-VAE of the two synthetic tasks in JAX: a scan over steps, a vmap over seeds.

In an environment of its own (`python -m venv with-jax; with-jax/bin/pip install jax`), for

    python benchmarks/training.py --only synth --jax with-jax/bin/python

Prints seed-steps a second, the median of some repeats, without the time to compile.
"""

import os
import sys

name, seeds, core = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.sched_setaffinity(0, {core})

import statistics  # noqa: E402
import time  # noqa: E402
from itertools import pairwise  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

HIDDEN = {"synth-lin": (), "synth-nonlin": (60, 40, 20)}[name]
BETA = {"synth-lin": 1e-4, "synth-nonlin": 1e-3}[name]
BATCH, STEPS, REPEATS, LATENTS = 128, 500, 7, 2
ENCODER, DECODER = (3, *HIDDEN, 2 * LATENTS), (LATENTS, *HIDDEN, 3)


def first_weights(key):
    weights = []
    for widths in (ENCODER, DECODER):
        layers = []
        for i, o in pairwise(widths):
            key, one, two = jax.random.split(key, 3)
            bound = i**-0.5
            layers.append(
                (
                    jax.random.uniform(one, (i, o), minval=-bound, maxval=bound),
                    jax.random.uniform(two, (o,), minval=-bound, maxval=bound),
                )
            )
        weights.append(layers)
    return weights


def dense(layers, x):
    for weight, bias in layers[:-1]:
        x = jnp.tanh(x @ weight + bias)
    weight, bias = layers[-1]
    return x @ weight + bias


def loss(weights, x, noise):
    mean, log_var = jnp.split(dense(weights[0], x), 2, axis=1)
    error = dense(weights[1], mean + jnp.exp(0.5 * log_var) * noise) - x
    kl = 0.5 * (mean**2 + jnp.exp(log_var) - log_var - 1).sum()
    return ((error**2).sum() + BETA * kl) / len(x)


def step(data, state, _):
    weights, first, second, count, key = state
    key, one, two = jax.random.split(key, 3)
    x = data[jax.random.randint(one, (BATCH,), 0, len(data))]
    gradient = jax.grad(loss)(weights, x, jax.random.normal(two, (BATCH, LATENTS)))
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
    weights = jax.tree.map(
        lambda w, m, v: (
            w - 1e-3 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)
        ),
        weights,
        first,
        second,
    )
    return (weights, first, second, count, key), None


def main():
    data = jax.random.uniform(jax.random.key(0), (40_000, 3))

    def start(key):
        weights = first_weights(key)
        zeros = jax.tree.map(jnp.zeros_like, weights)
        return weights, zeros, zeros, jnp.float32(0), key

    state = jax.vmap(start)(jax.random.split(jax.random.key(1), seeds))
    many = jax.jit(
        jax.vmap(lambda s: jax.lax.scan(lambda c, t: step(data, c, t), s, None, length=STEPS)[0])
    )
    state = jax.block_until_ready(many(state))
    rates = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        state = jax.block_until_ready(many(state))
        rates.append(seeds * STEPS / (time.perf_counter() - began))
    assert all(jnp.isfinite(w).all() for w in jax.tree.leaves(state[0]))
    print(statistics.median(rates))


if __name__ == "__main__":
    main()
