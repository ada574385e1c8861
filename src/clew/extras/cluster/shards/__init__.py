"""Several indexes as one: documents are split over shards, and a question asks all of them.

`exchange` has what is asked and replied, `shard` what one shard replies, `links` where shards live,
`whole` what all have together, `gather` and `pool` a question's way through them, `joined` what
comes out, `writing` how documents come to their shards, and `index` what users open.
"""
