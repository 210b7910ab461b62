# SPDX-License-Identifier: BSD-3-Clause
"""`polars_query.py make|group|join|sort FILE`: writes a table of trips, or asks polars something of it."""

import sys

import polars as pl

what, file = sys.argv[1:]
if what == "make":
    i = pl.int_range(3_000_000, eager=True)
    pl.DataFrame(
        {
            "id": i,
            "zone": (i * 7919) % 2003,
            "driver": (i * 104729) % 40009,
            "fare": ((i * 31) % 10007) / 7.0,
        }
    ).write_parquet(file)
    sys.exit()
trips = pl.scan_parquet(file)
if what == "group":
    asked = trips.group_by("zone", "driver").agg(pl.col("fare").mean(), pl.len()).select(pl.col("fare").sum())
elif what == "join":
    drivers = trips.group_by("driver").agg(pl.col("fare").sum().alias("total"))
    asked = trips.join(drivers, on="driver").group_by("zone").agg((pl.col("fare") / pl.col("total")).sum()).sum()
else:
    asked = trips.sort("fare", "driver", "id").select(pl.col("id").gather_every(1000).sum())
print(asked.collect())
