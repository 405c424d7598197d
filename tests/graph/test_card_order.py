"""What comes first on a card, and among related files: the same in every run, and what sorting all of it would give."""

from __future__ import annotations

from random import Random

from golore.graph.cards.card_text import file_texts
from golore.graph.cards.card_users import Users
from golore.graph.cards.related_files import best_files
from golore.graph.queries.file_facts import CardSymbol, FileFacts, Use


def named(name: str, file: str, line: int) -> CardSymbol:
    return CardSymbol("func", name, f"m.{name}", file, line, True, name, f"m.{name}")


def facts(uses: list[Use]) -> FileFacts:
    symbols = tuple(dict.fromkeys(use.target for use in uses))
    return FileFacts("a.go", "d", "m", False, False, "", symbols, tuple(uses), (), (), (), (), (), (), {}, ())


def card(uses: list[Use], ranks: dict[str, float]) -> list[str]:
    found = facts(uses)
    return file_texts(found, None, Users(found, ranks))[0].splitlines()


def test_declarations_that_matter_as_much_stand_in_the_order_of_their_lines() -> None:
    # Seven tests and three others use each; a sum over a set of such files once differed in its last digit.
    uses = [
        Use("CALLS", named(f"F{number}", "a.go", number), named(f"U{user}", f"{number}/{user}{end}", 1), "3")
        for number in range(8)
        for user in range(10)
        for end in ("_test.go" if user < 7 else ".go",)
    ]
    Random(1).shuffle(uses)
    _, first, second, others = card(uses, {})
    assert [first.split(":")[0], second.split(":")[0]] == ["- F0 10/10", "- F1 10/10"]
    assert others == f"- {', '.join(f'F{number} 10/10' for number in range(2, 8))}"


def test_one_user_of_each_of_the_most_important_files_is_named_and_then_more_of_them() -> None:
    target = named("F", "a.go", 1)
    sources = [
        named("late", "x.go", 9),
        named("early", "x.go", 2),
        named("only", "y.go", 5),
        named("inTest", "z_test.go", 1),
    ]
    uses = [Use("CALLS", target, source, "7 8") for source in sources]
    line = next(line for line in card(uses, {"y.go": 2.0, "x.go": 1.0}) if line.startswith("- F"))
    assert line == "- F: 4 callers in 3 files, 1 in tests: m.only (y.go:7), m.early (x.go:7), m.late (x.go:7)"
    tests_only = [Use("CALLS", target, named(f"t{n}", f"{n}_test.go", 1), "") for n in range(5)]
    text = Users(facts(tests_only), {"3_test.go": 1.0}).text(target)
    assert text == "5 callers in 5 files, in tests: m.t3 (3_test.go:1), m.t0 (0_test.go:1), m.t1 (1_test.go:1)"


def test_the_best_are_those_that_sorting_all_of_them_gives() -> None:
    chance = Random(3)
    for size in (0, 1, 29, 30, 31, 200):
        found = {f"f{number}.go": chance.choice((0.5, 1.0, -1.0, chance.random())) for number in range(size)}
        ordered = sorted(found, key=lambda path: (-found[path], path))
        assert best_files(found) == ordered[:30]
