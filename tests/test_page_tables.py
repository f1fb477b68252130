"""Numbers of a table look like those in the text around it, and stay numbers."""

from ui.grouped import grouped


def test_thousands_are_set_apart_and_a_column_has_one_number_of_decimals() -> None:
    shown = grouped({"": ["a", "b"], "p99": [1310, 12607], "p99/mean": [5.0, 4.9], "within": [None, 0.25]})
    cells = shown._translate(sparse_index=False, sparse_cols=False)["body"]
    told = [[cell["display_value"] for cell in row[1:]] for row in cells]
    assert told == [["a", "1,310", "5.0", "-"], ["b", "12,607", "4.9", "0.25"]]
    assert shown.data["p99"].tolist() == [1310, 12607]
