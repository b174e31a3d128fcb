"""The statements that all plans share, as SQL that DuckDB and Spark both read.

A plan finds *candidates*, pairs of a document of the batch and a conjunction. What it has not looked at itself is looked
at here: conditions (whatever is no equality) on the candidates that are left, branching points last
(``matching.md``, plans).

A comparison holds of some node of a document at a linear path just when it holds of the least or the greatest value
there; only equality needs each value. ``NaN`` is neither: it fulfils ``!=`` alone.
"""

from __future__ import annotations

from typing import Final

HOLDS: Final = """coalesce(CASE p.operator
  WHEN 1 THEN CASE WHEN p.text IS NOT NULL THEN x.low_text <> p.text OR x.high_text <> p.text
    ELSE x.nan OR coalesce(x.low <> p.number OR x.high <> p.number, false) END
  WHEN 2 THEN CASE WHEN p.text IS NOT NULL THEN x.low_text < p.text ELSE x.low < p.number END
  WHEN 3 THEN CASE WHEN p.text IS NOT NULL THEN x.low_text <= p.text ELSE x.low <= p.number END
  WHEN 4 THEN CASE WHEN p.text IS NOT NULL THEN x.high_text > p.text ELSE x.high > p.number END
  WHEN 5 THEN CASE WHEN p.text IS NOT NULL THEN x.high_text >= p.text ELSE x.high >= p.number END
  WHEN 6 THEN true
END, false)"""
"""Whether a predicate ``p`` that is no equality holds of values ``x``, of which it has the least and the greatest."""

# -- what a batch has ----------------------------------------------------------------------------------------------

TEXT_HITS: Final = """SELECT v.value, e.equality FROM equality AS e
JOIN (SELECT v.value, v.text, m.linear_path FROM value AS v JOIN path_match AS m ON m.tag_path = v.tag_path
  WHERE v.text IS NOT NULL) AS v ON e.text = v.text AND e.linear_path = v.linear_path"""
"""The values that fulfil an equality with a text."""

NUMBER_HITS: Final = """SELECT v.value, e.equality FROM equality AS e
JOIN (SELECT v.value, v.number, m.linear_path FROM value AS v JOIN path_match AS m ON m.tag_path = v.tag_path
  WHERE v.number IS NOT NULL) AS v ON e.number = v.number AND e.linear_path = v.linear_path"""
"""The values that fulfil an equality with a number."""

ACCESS_HITS: Final = """SELECT v.value, e.equality FROM equality AS e
JOIN path_match AS m ON m.linear_path = e.linear_path
JOIN value AS v ON v.tag_path = m.tag_path
WHERE e.text IS NULL AND e.number IS NULL"""
"""The values of nodes that are asked for as such, by access."""

DOCUMENT_HITS: Final = """SELECT DISTINCT f.document, h.equality FROM fact AS f JOIN hit AS h ON h.value = f.value"""
"""What holds in each document."""

EXTENTS: Final = """SELECT f.document, v.tag_path, min(v.number) AS low, max(v.number) AS high, bool_or(v.nan) AS nan,
  min(v.text) AS low_text, max(v.text) AS high_text
FROM fact AS f JOIN value AS v ON v.value = f.value GROUP BY f.document, v.tag_path"""
"""The least and the greatest values at each tag path of each document."""

# -- conditions ----------------------------------------------------------------------------------------------------

CONDITIONS: Final = """SELECT c.document, p.conjunction, p.linear_path, p.operator, p.text, p.number
FROM predicate AS p JOIN candidate AS c ON c.conjunction = p.conjunction WHERE p.operator <> 0"""
"""The conditions of the candidates."""

PATH_EXTENTS: Final = """SELECT a.document, a.linear_path, min(x.low) AS low, max(x.high) AS high, bool_or(x.nan) AS nan,
  min(x.low_text) AS low_text, max(x.high_text) AS high_text
FROM (SELECT DISTINCT document, linear_path FROM condition) AS a
JOIN path_match AS m ON m.linear_path = a.linear_path
JOIN extent AS x ON x.document = a.document AND x.tag_path = m.tag_path
GROUP BY a.document, a.linear_path"""
"""The least and the greatest values that they are about."""

SURVIVORS: Final = f"""SELECT c.document, c.conjunction, k.structure FROM (
  SELECT p.document, p.conjunction, count(*) AS fulfilled FROM condition AS p
  JOIN path_extent AS x ON x.document = p.document AND x.linear_path = p.linear_path
  WHERE {HOLDS} GROUP BY p.document, p.conjunction
) AS c JOIN conjunction AS k ON k.conjunction = c.conjunction AND k.conditions = c.fulfilled
UNION ALL SELECT c.document, c.conjunction, k.structure
FROM candidate AS c JOIN conjunction AS k ON k.conjunction = c.conjunction WHERE k.conditions = 0"""
"""The candidates all of whose conditions are fulfilled."""

EQUALITIES: Final = """SELECT c.document, c.conjunction FROM (
  SELECT c.document, p.conjunction, p.place, p.equality
  FROM predicate AS p JOIN candidate AS c ON c.conjunction = p.conjunction WHERE p.operator = 0
) AS c LEFT JOIN document_hit AS h ON h.document = c.document AND h.equality = c.equality
GROUP BY c.document, c.conjunction HAVING count(*) > count(h.equality)"""
"""The candidates some of whose equalities are not fulfilled."""

# -- branching points ----------------------------------------------------------------------------------------------

FACT_HITS: Final = """SELECT f.document, h.equality, f.fact, v.tag_path FROM fact AS f
JOIN hit AS h ON h.value = f.value JOIN value AS v ON v.value = f.value"""
"""The nodes that fulfil an equality."""

BRANCHES: Final = """SELECT c.document, p.conjunction, c.structure, p.place, p.linear_path, p.operator, p.equality,
  p.text, p.number, p.branching
FROM predicate AS p JOIN branching_candidate AS c ON c.conjunction = p.conjunction WHERE p.branching <> 0"""
"""The predicates below branching points, of the candidates that are left."""

LEAVES: Final = f"""SELECT p.document, p.conjunction, p.structure, p.place, p.branching, h.tag_path, h.fact
FROM branch AS p JOIN fact_hit AS h ON h.document = p.document AND h.equality = p.equality WHERE p.operator = 0
UNION ALL SELECT p.document, p.conjunction, p.structure, p.place, p.branching, x.tag_path, x.fact
FROM branch AS p JOIN path_match AS m ON m.linear_path = p.linear_path
JOIN (
  SELECT f.document, f.fact, v.tag_path, v.number AS low, v.number AS high, v.nan, v.text AS low_text,
    v.text AS high_text
  FROM fact AS f JOIN value AS v ON v.value = f.value
) AS x ON x.document = p.document AND x.tag_path = m.tag_path
WHERE p.operator <> 0 AND {HOLDS}"""
"""The nodes that fulfil each of them."""

UNPLACED: Final = """SELECT DISTINCT l.tag_path, l.branching FROM leaf AS l
LEFT JOIN tag_path_branching AS b ON b.tag_path = l.tag_path AND b.branching = l.branching WHERE b.tag_path IS NULL
ORDER BY l.tag_path, l.branching"""
"""What their branching points are not known for."""

PLACED: Final = """SELECT DISTINCT l.document, l.conjunction, l.structure, b.point, b.level, l.place AS part, b.placement,
  node_at(f.id_path, b.depth) AS node, l.fact
FROM leaf AS l JOIN tag_path_branching AS b ON b.tag_path = l.tag_path AND b.branching = l.branching
JOIN fact AS f ON f.fact = l.fact"""
"""The nodes at the lowest branching points above them."""

COMPLETE: Final = """SELECT g.document, g.conjunction, g.structure, g.point, g.placement, g.fact, s.parent FROM (
  SELECT document, conjunction, structure, point, placement, node, count(DISTINCT part) AS parts, min(fact) AS fact
  FROM placed WHERE level = {level} GROUP BY document, conjunction, structure, point, placement, node
) AS g JOIN structure AS s ON s.structure = g.structure AND s.point = g.point AND s.parts = g.parts"""
"""The nodes at branching points of a level of which all parts are found."""

CUT: Final = """SELECT c.document, c.conjunction, c.structure, c.parent AS point, {level} AS level, -c.point AS part,
  w.parent AS placement, node_at(f.id_path, w.parent_depth) AS node, c.fact
FROM complete AS c JOIN placement AS w ON w.placement = c.placement JOIN fact AS f ON f.fact = c.fact
WHERE c.parent <> 0"""
"""They are parts of the branching points next above."""

TOPS: Final = """SELECT DISTINCT document, conjunction, structure, point FROM complete WHERE parent = 0"""
"""The uppermost branching points of which all is found."""

EMBEDDED: Final = """SELECT t.document, t.conjunction FROM (
  SELECT document, conjunction, structure, count(*) AS tops FROM top GROUP BY document, conjunction, structure
) AS t JOIN (SELECT structure, count(*) AS tops FROM structure WHERE parent = 0 GROUP BY structure) AS s
ON s.structure = t.structure AND s.tops = t.tops"""
"""The candidates of which all branching points are found."""

NUMBERS: Final = """SELECT DISTINCT s.document, k.number FROM ({found}) AS s
JOIN conjunction AS k ON k.conjunction = s.conjunction"""

# -- the shared chain ------------------------------------------------------------------------------------------------

SHARED: Final = """WITH RECURSIVE reached(document, chain_id, final) AS (
  SELECT h.document, c.chain_id, c.final FROM chain AS c JOIN document_hit AS h ON h.equality = c.equality
  WHERE c.pre_id = 0
  UNION ALL
  SELECT r.document, c.chain_id, c.final FROM chain AS c JOIN reached AS r ON r.chain_id = c.pre_id AND NOT r.final
  JOIN document_hit AS h ON h.document = r.document AND h.equality = c.equality
)
SELECT document, chain_id AS conjunction FROM reached WHERE final"""
"""The conjunctions whose equalities a document fulfils, one predicate in each turn (section 3.3, Figure 3.9)."""

# -- rows ------------------------------------------------------------------------------------------------------------

CLASS_VALUES: Final = """SELECT x.document, c.class, max(CASE WHEN c.below THEN -x.low ELSE x.high END) AS value
FROM extent AS x JOIN path_match AS m ON m.tag_path = x.tag_path JOIN class AS c ON c.linear_path = m.linear_path
WHERE x.low IS NOT NULL GROUP BY x.document, c.class"""
"""What the bounds of each class are compared with, for each document."""

_NONE: Final = "CAST('-Infinity' AS DOUBLE)"


def wide_values(classes: int) -> str:
    """The values of all classes of a document in one row, those it has none for as -INF."""
    columns = "".join(
        f", coalesce(max(CASE WHEN v.class = {number} THEN v.value END), {_NONE}) AS value_{number}"
        for number in range(classes)
    )
    return (
        f"SELECT d.document{columns} FROM (SELECT DISTINCT document FROM document_hit) AS d"
        " LEFT JOIN class_value AS v ON v.document = d.document GROUP BY d.document"
    )


def _bounds(classes: int) -> str:
    return "".join(f" AND w.value_{number} >= s.bound_{number}" for number in range(classes))


def unrolled(classes: int) -> str:
    """The candidates by their equality and all bounds at once."""
    columns = "".join(f", w.value_{number}" for number in range(classes))
    return (
        "SELECT w.document, s.conjunction, s.structure, s.rest FROM unrolled AS s JOIN ("
        f"SELECT h.document, h.equality{columns} FROM document_hit AS h JOIN wide_value AS w"
        f" ON w.document = h.document) AS w ON w.equality = s.equality{_bounds(classes)}"
    )


def probes(none: int, probe: int, buckets: int) -> str:
    """What rows are looked for: each equality with each bucket of which a value reaches the least bound."""
    found = (
        f"SELECT v.document, b.class * {buckets} + b.bucket AS part, v.value"
        " FROM class_value AS v JOIN bucket AS b ON b.class = v.class AND b.least <= v.value"
        f" UNION ALL SELECT document, {none * buckets}, CAST('Infinity' AS DOUBLE) FROM wide_value"
        f" WHERE EXISTS (SELECT 1 FROM bucket WHERE class = {none})"
    )
    return (
        f"SELECT h.document, h.equality * CAST({probe} AS BIGINT) + v.part AS probe, v.value"
        f" FROM document_hit AS h JOIN ({found}) AS v ON v.document = h.document"
    )


def bucketed(classes: int) -> str:
    """The candidates by equality and bucket, then by the bound of the bucket's class, then by all bounds."""
    return (
        "SELECT w.document, s.conjunction, s.structure, s.rest FROM bucketed AS s"
        " JOIN probe AS p ON p.probe = s.probe AND p.value >= s.bound"
        f" JOIN wide_value AS w ON w.document = p.document{_bounds(classes)}"
    )
