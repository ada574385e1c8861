"""Reports as figures: curves of a grid, bars side by side, quality against cost.

All but `picture` needs matplotlib, the extra `plots`.
"""
