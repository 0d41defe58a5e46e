"""Mutants of files, records and schedules: faults that only a crash, a full disk or a lost worker shows."""

from support.mutation import Mutant
from support.places import condition, name, statement

FILES = "persistence/test_files.py"
FAULTS = "persistence/test_file_faults.py"
POWER = f"{FAULTS}::test_what_returned_before_a_power_cut_is_on_the_disk"
SCHEDULE = "training/test_schedule.py"

MUTANTS = [
    Mutant(
        "line acknowledged before it is on the disk",
        "hypergnn.persistence.files:append",
        statement("os", "fsync"),
        "pass",
        POWER,
    ),
    Mutant(
        "name of a new file not synced",
        "hypergnn.persistence.files:append",
        statement("sync_folder"),
        "pass",
        POWER,
    ),
    Mutant(
        "file replaced before its content is on the disk",
        "hypergnn.persistence.files:replacing",
        statement("os", "fsync"),
        "pass",
        POWER,
    ),
    Mutant(
        "new name of a file not synced",
        "hypergnn.persistence.files:replacing",
        statement("sync_folder"),
        "pass",
        POWER,
    ),
    Mutant(
        "part of a line left after an error",
        "hypergnn.persistence.files:append",
        statement("ftruncate"),
        "pass",
        f"{FAULTS}::test_an_append_that_fails_anywhere_leaves_the_file_as_it_was",
    ),
    Mutant(
        "mode of the old file forgotten",
        "hypergnn.persistence.files:_create_beside",
        statement("fchmod"),
        "pass",
        f"{FILES}::test_the_mode_of_the_old_file_stays",
    ),
    Mutant(
        "temporary files of living writers removed",
        "hypergnn.persistence.files:remove_left_overs",
        condition("_lock"),
        "True",
        f"{FILES}::test_writers_do_not_remove_the_files_of_living_ones",
    ),
    Mutant(
        "links followed by appends",
        "hypergnn.persistence.files:append",
        name("_NO_LINK"),
        "0",
        f"{FILES}::test_a_link_is_neither_appended_to_nor_cut",
    ),
    Mutant(
        "checksum of a line not compared",
        "hypergnn.persistence.json_lines:parse",
        condition("crc32"),
        "False",
        "training/test_ledger.py::test_a_line_that_was_changed_is_an_error_unless_it_is_the_last",
    ),
    Mutant(
        "batch of a lost worker dropped",
        "hypergnn.training.schedule:Schedule.lose",
        statement("extendleft"),
        "pass",
        f"{SCHEDULE}::test_only_deadly_seeds_fail_and_all_others_finish_once",
    ),
    Mutant(
        "second chance beside other workers",
        "hypergnn.training.schedule:Schedule.next_batch",
        name("alone"),
        "True",
        f"{SCHEDULE}::test_a_second_chance_comes_last_and_alone",
    ),
    Mutant(
        "losses counted although trials finish between them",
        "hypergnn.training.schedule:Schedule.gain",
        statement("_in_a_row"),
        "pass",
        f"{SCHEDULE}::test_losses_between_which_trials_finish_are_not_in_a_row",
    ),
]
