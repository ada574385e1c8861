"""Several indexes as one: documents are split over shards, and a question asks all of them.

`exchange` has what is asked and replied, `shard` what one replies, `links`, `served` and `ray`
where shards live, `asking` how they are asked within a deadline, `whole` and `known` what all have
together, `routing` which can matter, `gather` and `pool` a question's way through them, `joined`
what comes out, `writing` how documents come to their shards, and `index` what users open.
"""
