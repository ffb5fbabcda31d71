from volary.server.connections import budgets


def test_nobody_gets_more_than_a_share_nor_all_more_than_there_is() -> None:
    budget = budgets.Budget(10)

    assert budget.take("a", 4, share=5)
    assert not budget.take("a", 2, share=5)
    assert budget.take("a", 1, share=5)
    assert budget.take("b", 4, share=5)
    assert not budget.take("c", 2, share=5)
    assert budget.taken == 9


def test_what_is_given_back_is_there_again_and_holders_are_forgotten() -> None:
    budget = budgets.Budget(10)
    budget.take("a", 5, share=5)
    budget.take("b", 0, share=5)
    assert not budget.take("c", 6, share=5)
    budget.give_back("a", 5)
    budget.give_back("b", 0)

    assert (budget.taken, budget.holders) == (0, 0)
    assert budget.take("a", 5, share=5)
