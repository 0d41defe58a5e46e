"""Mutants of shards, their files, and of trials that are trained elsewhere."""

from support.mutation import Mutant
from support.places import argument, call, condition, value

SHARDS = "distributed/test_shards.py"
FILES = "distributed/test_shard_files.py"
TOGETHER = "distributed/test_together.py"
ELSEWHERE = "training/test_elsewhere.py"

MUTANTS = [
    Mutant(
        "a shard with degrees of its own hyperedges",
        "hypergnn.distributed:Shard._of",
        argument("cls", "_hyperedge_degree"),
        "part.incidence.back_offsets.diff().double()",
        f"{SHARDS}::test_degrees_are_those_of_the_whole",
    ),
    Mutant(
        "processes that disagree on the owner of a hyperedge",
        "hypergnn._utils.routing:routes",
        value("owner"),
        "_ + (other == 0)",
        f"{SHARDS}::test_hyperedges_of_three_processes_have_an_owner_that_all_agree_on",
    ),
    Mutant(
        "uncut hyperedges that travel",
        "hypergnn._utils.routing:routes",
        value("is_other"),
        "other >= 0",
        f"{SHARDS}::test_only_shared_hyperedges_travel",
    ),
    Mutant(
        "processes that do not exist",
        "hypergnn.distributed:as_processes",
        condition("found.max"),
        "False",
        f"{SHARDS}::test_a_division_that_does_not_fit_is_refused",
    ),
    Mutant(
        "files of another division admitted",
        "hypergnn.distributed:_load_one",
        condition("content"),
        "False",
        f"{FILES}::test_files_of_two_divisions_do_not_fit",
    ),
    Mutant(
        "any number of processes admitted",
        "hypergnn.distributed:_fitting_head",
        condition("size"),
        "False",
        f"{FILES}::test_the_number_of_processes_must_be_that_of_the_shards",
    ),
    Mutant(
        "a half-written folder left behind",
        "hypergnn.persistence.files:_remove_folder",
        call("rmdir"),
        "None",
        f"{FILES}::test_a_failure_leaves_nothing_behind",
    ),
    Mutant(
        "every process drops the same entries",
        "hypergnn.functional:_shifted",
        condition("shift"),
        "True",
        f"{TOGETHER}::test_sparse_features_drop_other_entries_in_each_process",
    ),
    Mutant(
        "shards of other data used",
        "hypergnn.cli.together:_divided",
        condition("description"),
        "False",
        f"{TOGETHER}::test_shards_of_other_data_are_not_used",
    ),
    Mutant(
        "batches of lost workers forgotten",
        "hypergnn.training.elsewhere:_trained",
        call("put_back"),
        "None",
        f"{ELSEWHERE}::test_a_lost_batch_is_trained_again",
    ),
    Mutant(
        "errors of training taken for lost workers",
        "hypergnn.training:_checked",
        condition("BaseException"),
        "False",
        f"{ELSEWHERE}::test_an_error_of_the_training_is_raised_with_its_place",
    ),
]
