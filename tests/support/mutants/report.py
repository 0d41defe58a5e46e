"""Mutants of the charts of the report."""

from support.mutation import Mutant
from support.places import argument, call, condition, constant, result, term

CHARTS = "report/test_charts.py"

MUTANTS = [
    Mutant(
        "names of charts not escaped",
        "hypergnn.report.svg:_escaped",
        call("escape"),
        '_NOT_XML.sub("", text)',
        f"{CHARTS}::test_no_name_becomes_markup",
    ),
    Mutant(
        "characters in figures that XML forbids",
        "hypergnn.report.svg:_escaped",
        argument("escape", 0),
        "text",
        f"{CHARTS}::test_no_name_becomes_markup",
    ),
    Mutant(
        "a logarithmic axis that is linear",
        "hypergnn.report.scales:Scale.__call__",
        condition("is_logarithmic"),
        "False",
        f"{CHARTS}::test_lines_go_through_their_means_on_a_logarithmic_axis",
    ),
    Mutant(
        "ticks beyond the axis",
        "hypergnn.report.scales:Scale.ticks",
        argument("range", 1),
        "_ + 1",
        f"{CHARTS}::test_ticks_are_round_evenly_spaced_distinct_and_on_the_axis",
    ),
    Mutant(
        "intervals that end at the mean",
        "hypergnn.report.charts:dots",
        constant("high"),
        '"mean"',
        f"{CHARTS}::test_dots_stand_at_the_measured_and_published_numbers",
    ),
    Mutant(
        "the mean loss of trials that have stopped",
        "hypergnn.report.charts:_losses",
        condition("epoch"),
        "True",
        f"{CHARTS}::test_curves_name_the_mean_loss_of_the_trials_that_still_run",
    ),
    Mutant(
        "the map of a figure upside down",
        "hypergnn.report.charts:embedding",
        term("inner"),
        "1 - _",
        f"{CHARTS}::test_a_map_has_the_colours_of_the_classes",
    ),
    Mutant(
        "other places on the page than in figures",
        "hypergnn.report.plane:Plane.across",
        result("width"),
        'f"{number(90 * share)}%" if self.width is None else number(share * self.width)',
        f"{CHARTS}::test_page_and_figure_place_marks_alike",
    ),
]
