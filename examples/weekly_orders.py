"""Learn from orders that arrive week by week: who buys for a company, and who for the household?

Each week brings customers whom nobody knows, products that nobody has bought before, and what the sellers have found
out about some customers. One classifier is fitted in the first week and stays as it is; the other one goes on with
``partial_fit``. Both predict the customers of each week before they learn anything about them. The orders are
generated. Run with ``python examples/weekly_orders.py``; it takes a few seconds.
"""

import sys
from copy import deepcopy

import numpy as np

import hypergnn as hg

KINDS = ("company", "household")
NEW_CUSTOMERS, NEW_PRODUCTS, ORDERS = 30, 4, 5
KNOWN = 0.3
"""Share of the customers of a week whose kind the sellers find out."""


def week_of_orders(week: int, rng: np.random.Generator) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the orders of a week, one row per customer and product, and the kind of each customer who comes in it.

    Products are bought for three weeks. Most orders are for products of the customer's own kind.
    """
    customers = {f"customer {week}.{number}": KINDS[number % 2] for number in range(NEW_CUSTOMERS)}
    orders: dict[str, list[str]] = {"customer": [], "product": []}
    for customer, kind in customers.items():
        for _ in range(ORDERS):
            bought_by = kind if rng.random() < 0.8 else KINDS[rng.integers(2)]
            since = max(0, week - int(rng.integers(3)))
            orders["customer"].append(customer)
            orders["product"].append(f"{bought_by} product {since}.{rng.integers(NEW_PRODUCTS)}")
    return orders, customers


def main(weeks: int = 8) -> None:
    rng = np.random.default_rng(0)
    going_on = hg.HypergraphClassifier("hyper-conv", weight_decay=1e-3, random_state=0)
    fitted_once = None
    print("week  customers  products  fitted once  going on")
    for week in range(weeks):
        orders, kinds = week_of_orders(week, rng)
        truth = np.array(list(kinds.values()))
        found_out = np.where(rng.random(truth.size) < KNOWN, truth, None)
        if fitted_once is not None:
            scores = [model.score(None, truth, memberships=orders) for model in (fitted_once, going_on)]
        going_on.partial_fit(None, found_out, classes=KINDS, memberships=orders)
        H = going_on.hypergraph_
        if fitted_once is None:
            fitted_once = deepcopy(going_on)
            print(f"{week:4} {H.n_vertices:10} {H.n_hyperedges:9}")
        else:
            print(f"{week:4} {H.n_vertices:10} {H.n_hyperedges:9} {scores[0]:12.0%} {scores[1]:9.0%}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
