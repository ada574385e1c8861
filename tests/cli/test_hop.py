"""`clew hop`."""


def test_a_hop_shows_the_entity_and_the_sentence(clew, own_index):
    result = clew("hop", "Colin Archer", "--index", own_index, "--chunks", 1, "--query", "ship")
    assert result.exit_code == 0
    assert "Colin Archer: " in result.stdout
    assert clew("hop", "nobody", "--index", own_index).exit_code == 1
