"""Mutants of the plan, of the loop of epochs and of the order of vertices."""

from support.mutation import Mutant
from support.places import argument, choice, comparison, condition, name, result, statement, term

TRAINING = "training/test_training.py"
PLAN = "training/test_plan.py"
PART = f"{PLAN}::test_a_part_gives_the_losses_and_gradients_of_the_whole"
KNOWN = f"{PLAN}::test_the_first_transition_is_precomputed_where_that_saves_time"
PLAIN = f"{TRAINING}::test_the_engine_trains_as_plain_torch_does"
PLAIN_DROPOUT = f"{TRAINING}::test_dropout_is_drawn_for_each_seed_and_epoch"
PATIENCE = f"{TRAINING}::test_trials_leave_when_their_patience_is_over_and_keep_their_best_epoch"
LEAVING = f"{TRAINING}::test_a_trial_goes_on_as_before_when_another_leaves"

MUTANTS = [
    Mutant(
        "labels left behind in another order",
        "hypergnn.training:near_together",
        argument("replace", "y"),
        "data.y",
        f"{TRAINING}::test_in_another_order_the_same_is_learned",
    ),
    Mutant(
        "places forgotten, so that a part drops other entries", "hypergnn.training.plan:_places", result(), "{}", PART
    ),
    Mutant(
        "places of pairs forgotten",
        "hypergnn.training.plan:_places",
        statement("own", "of_block", "places"),
        "pass",
        PART,
    ),
    Mutant("places of rows forgotten", "hypergnn.training.plan:_places", condition("read"), "False", PART),
    Mutant(
        "a vertex that is learned twice counts once",
        "hypergnn.training:_part",
        argument("Part", "rows"),
        "torch.arange(made.numel())",
        PART,
    ),
    Mutant(
        "rows of the whole taken where the product is known",
        "hypergnn.training:_part",
        argument("Part", "known"),
        "known if known is None or read is None else known[: read.numel()]",
        PART,
    ),
    Mutant(
        "product known although features are dropped",
        "hypergnn.training:Plan.of",
        choice("first_dropout"),
        "known",
        KNOWN,
    ),
    Mutant(
        "product known at any cost",
        "hypergnn.training:_known_transition",
        comparison("costs"),
        "False",
        KNOWN,
    ),
    Mutant(
        "parameters of the last epoch taken for the best",
        "hypergnn.training:_finish",
        name("state.best"),
        "state.parameters",
        PATIENCE,
    ),
    Mutant(
        "best parameters of one trial copied for all",
        "hypergnn.training:_keep_best",
        comparison("better", "val_loss"),
        "True",
        PATIENCE,
    ),
    Mutant(
        "patience counted from the start",
        "hypergnn.training:_train",
        term("best"),
        "0",
        PATIENCE,
    ),
    Mutant("validation with dropout", "hypergnn.training:_train", statement("evaluator", "eval"), "pass", PATIENCE),
    Mutant("all trials drawn from one seed", "hypergnn.training:_start", argument("manual_seed", 0), "0", PLAIN),
    Mutant("no weight decay", "hypergnn.training:_start", argument("Adam", 2), "0.0", PLAIN),
    Mutant("dropout the same in every epoch", "hypergnn.training:_step", argument("seeded", 1), "0", PLAIN_DROPOUT),
    Mutant(
        "dropout of the trial in the first place",
        "hypergnn.training:_step",
        argument("seeded", 0),
        "_[:1] * len(_)",
        PLAIN_DROPOUT,
    ),
    Mutant(
        "optimiser begun again when a trial leaves",
        "hypergnn.training:_select",
        argument("_State", "optimizer"),
        "Adam(parameters, state.optimizer.rate, state.optimizer.decay)",
        LEAVING,
        backend="numba",
    ),
    Mutant(
        "steps of the optimiser counted again when a trial leaves",
        "hypergnn.training:Adam.select",
        statement("selected", "steps"),
        "pass",
        LEAVING,
        backend="numba",
    ),
]
