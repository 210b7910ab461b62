# SPDX-License-Identifier: BSD-3-Clause
"""`duckdb_query.py make|join|sort|window FILE [THREADS]`: writes a table of orders, or asks DuckDB something of it."""

import sys

import duckdb

_MAKE = """
copy (select i as id, (i * 7919) % 50021 as customer, (i * 104729) % 997 as product, ((i * 31) % 10007) / 7.0 as price
      from range(2000000) t(i)) to '{file}' (format parquet)
"""
_QUERIES = {
    "join": """
        select a.product, count(*), sum(a.price * b.total) from '{file}' a
        join (select customer, sum(price) total from '{file}' group by customer) b using (customer)
        group by a.product order by a.product limit 5
    """,
    "sort": "select max(id) from (select id from '{file}' order by price, product, id limit 1500000)",
    "window": """
        select sum(r) from (select rank() over (partition by customer order by price) r from '{file}' where id % 4 = 0)
    """,
}

what, file, *threads = sys.argv[1:]
if threads:
    duckdb.sql(f"set threads = {threads[0]}")
if what == "make":
    duckdb.sql(_MAKE.format(file=file))
else:
    print(duckdb.sql(_QUERIES[what].format(file=file)).fetchall())
