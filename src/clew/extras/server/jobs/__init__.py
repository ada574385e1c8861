"""Jobs: long tasks and writes, in processes that outlive requests and servers.

`queue` has the rows, `driver` starts processes and looks after them, `process` is such a process,
`work` what it does. A job goes through these states:

    queued -> running -> done | failed | cancelled
                 |
                 └-> interrupted -> running, by itself

At most one job of an index runs at a time, and jobs of one index run in the order in which they
came. Whatever ends a process, what it committed is there, and the next one goes on behind it.
"""
