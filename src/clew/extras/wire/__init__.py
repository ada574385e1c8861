"""The messages between a server and its clients: values, errors and names, without arrays.

Both sides import these modules, so that what one writes is what the other reads.
"""
