"""How values are shown: as plain values, in one line, as HTML, without characters nobody sees."""
