"""Mutants of mini-batches: what is drawn, what it stands for, and how training continues from a checkpoint."""

from support.mutation import Mutant
from support.places import argument, condition, factor, name, result, value, within

SAMPLING = "loader/test_sampling.py"
NEIGHBORS = "loader/test_neighbors.py"
TRAINING = "training/test_sampled_training.py"
MEAN = f"{SAMPLING}::test_the_mean_of_sampled_convolutions_is_the_full_one"
RESUMED = f"{TRAINING}::test_a_trial_continues_from_a_checkpoint_to_the_bit"

MUTANTS = [
    Mutant(
        "receivers of a sample scaled by their degree in the sample",
        "hypergnn.loader.sampling:Sampler._assembled",
        argument("Block", "_receiver_degree"),
        "torch.from_numpy(np.diff(drawn.ends).astype(np.float64))",
        MEAN,
    ),
    Mutant(
        "the sum over drawn members divided by the number of all",
        "hypergnn.loader.sampling:Sampler._assembled",
        argument("Block", "_hyperedge_degree"),
        "sizes",
        MEAN,
    ),
    Mutant(
        "senders of a sample without their degree in the whole",
        "hypergnn.loader.sampling:Sampler._assembled",
        argument("Block", "_sender_degree"),
        "torch.ones_like(_)",
        MEAN,
    ),
    Mutant(
        "drawn hyperedges stand for themselves only",
        "hypergnn.loader.sampling:Sampler._hyperedges_of",
        argument("_Drawn", 3, "scale"),
        "np.ones(made.size)",
        MEAN,
    ),
    Mutant(
        "drawn hyperedges without the inverse of their probability",
        "hypergnn.loader.sampling:Sampler._slots",
        factor("factor"),
        "1",
        MEAN,
    ),
    Mutant(
        "hyperedges drawn evenly in spite of their weights",
        "hypergnn.loader.sampling:Sampler._hyperedges_of",
        condition("_is_weighted"),
        "False",
        f"{SAMPLING}::test_hyperedges_are_drawn_by_weight",
    ),
    Mutant(
        "a sampled convolution without the scale of its receivers",
        "hypergnn.functional.convolution:_sampled_scalings",
        within(result("middle"), name("left")),
        "1",
        MEAN,
    ),
    Mutant(
        "the same draws in every epoch",
        "hypergnn.loader.neighbors:NeighborLoader._drawn",
        argument("blocks", 3),
        "0",
        f"{NEIGHBORS}::test_draws_differ_between_epochs_batches_and_layers",
    ),
    Mutant(
        "the same order in every epoch",
        "hypergnn.loader.neighbors:NeighborLoader._order",
        argument("hash_of", 1),
        "0",
        f"{NEIGHBORS}::test_batches_depend_on_seed_epoch_and_number_only",
    ),
    Mutant(
        "shares of different lengths",
        "hypergnn.loader.neighbors:NeighborLoader.__len__",
        result(),
        "(self.n_batches - self._share[0] - 1) // self._share[1] + 1",
        f"{NEIGHBORS}::test_shares_are_all_batches_and_equally_many",
    ),
    Mutant(
        "attention of a sender over the drawn hyperedges of others only",
        "hypergnn.loader.sampling:Sampler._attended",
        argument("drawn", 1, "senders"),
        "1",
        f"{SAMPLING}::test_attention_with_a_fan_out_beyond_all_degrees_is_exact",
    ),
    Mutant(
        "a resumed trial whose optimiser starts again",
        "hypergnn.training.sampled:_Run.restore",
        value("state.optimizer.steps"),
        "0",
        RESUMED,
    ),
    Mutant(
        "a resumed trial that repeats its epoch",
        "hypergnn.training.sampled:_Run.moment",
        within(value("numbers"), name("self.number")),
        "0",
        RESUMED,
    ),
    Mutant(
        "dropout the same in every batch",
        "hypergnn.training.sampled:_Run.step",
        argument("seeded", 1),
        "self.epoch",
        f"{TRAINING}::test_dropout_differs_between_batches",
    ),
]
