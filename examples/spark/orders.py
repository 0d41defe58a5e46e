"""From orders to the segment of every customer, with Spark at both ends.

1. Spark propagates the features of all customers over the products that they bought, and writes Parquet files.
2. One machine trains a classifier on the propagated features of the few customers whose segment is known.
3. Spark computes the scores of all customers.

Only the second step needs PyTorch, and it needs no hypergraph any more: each row holds what it must know of its
neighbourhood. On a cluster, start it with ``spark-submit``; here, Spark runs in this process.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import hypergnn as hg

SEGMENTS = np.array(["books", "garden", "music"])


def main(folder: Path, n_customers: int = 600, session=None) -> float:
    """Run all three steps in a folder, and return the share of unlabelled customers that are classified correctly."""
    from hypergnn.spark.sessions import open_session

    spark = open_session(None) if session is None else session
    orders, features, labels, truth = generated(spark, n_customers)

    H = hg.spark.Hypergraph(orders, vertex="customer", hyperedge="product")
    print(f"{H.n_vertices} customers, {H.n_hyperedges} products, {H.n_incidences} incidences")
    H.propagate(features, normalization="row", steps=2).write.parquet(str(folder / "propagated"))

    propagated = spark.read.parquet(str(folder / "propagated"))
    train(propagated.join(labels, "customer", "left"), folder / "run")

    scores = H.predict(folder / "run" / "model.safetensors", propagated)
    scores.write.parquet(str(folder / "scores"))
    found = {row["customer"]: row["class"] for row in spark.read.parquet(str(folder / "scores")).collect()}
    known = {row["customer"] for row in labels.collect()}
    share = float(np.mean([found[name] == segment for name, segment in truth.items() if name not in known]))
    print(f"{len(found)} customers scored, {len(known)} of them labelled; {100 * share:.1f} % of the others correct")
    if session is None:
        spark.stop()
    return share


def generated(spark, n_customers: int):
    """Orders, features, some labels, and the truth: customers of a segment buy similar products."""
    rng = np.random.default_rng(0)
    segment = rng.integers(0, 3, n_customers)
    names = [f"customer {number}" for number in range(n_customers)]
    customer = np.repeat(np.arange(n_customers), 6)
    is_own = rng.random(customer.size) < 0.8
    product = 40 * np.where(is_own, segment[customer], rng.integers(0, 3, customer.size)) + rng.integers(
        0, 40, customer.size
    )
    pairs = [(names[who], f"product {what}") for who, what in zip(customer, product, strict=True)]
    x = rng.normal(size=(n_customers, 8)) + 0.5 * np.eye(3, 8)[segment]
    labelled = rng.permutation(n_customers)[:90]
    return (
        spark.createDataFrame(pairs, "customer string, product string"),
        spark.createDataFrame(list(zip(names, x.tolist(), strict=True)), "customer string, features array<float>"),
        spark.createDataFrame(
            [(names[who], str(SEGMENTS[segment[who]])) for who in labelled], "customer string, segment string"
        ),
        dict(zip(names, SEGMENTS[segment].tolist(), strict=True)),
    )


def train(table, run: Path) -> None:
    """Train a multilayer perceptron on the rows with a label, and save the best of three trials."""
    rows = table.where("segment is not null").toArrow()
    x = np.stack(rows["features"].to_numpy()).astype(np.float32)
    names = rows["customer"].to_pylist()
    columns = {"customer": names} | {f"feature {number}": x[:, number] for number in range(x.shape[1])}
    data = hg.datasets.from_tables(
        incidences={"customer": names, "row": names},  # a perceptron looks at no hyperedges
        features=columns,
        labels={"customer": names, "segment": rows["segment"].to_pylist()},
        name="orders",
    )
    config = hg.Config(model="mlp", hidden=16, heads=1, dropout=0.2, feature_scaling="none", learning_rate=0.02)
    hg.training.fit(data, config, trials=3, out=run)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
