"""The statements that all plans share, as SQL that DuckDB and Spark both read.

A plan finds *candidates*, pairs of a document of the batch and a conjunction. What it has not looked at
itself is looked at here: conditions (whatever is no equality) on the candidates that are left, branching points last
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

CODED: Final = """SELECT v.value, v.tag_path, c.constant FROM constant AS c JOIN value AS v ON v.text = c.text
UNION ALL SELECT v.value, v.tag_path, c.constant FROM constant AS c JOIN value AS v ON v.number = c.number"""
"""The values that are a constant of some equality, as text or as number."""

HITS_OF_EQUALITIES: Final = """SELECT v.value, e.equality FROM (
  SELECT m.tag_path, e.equality, e.constant FROM equality AS e JOIN path_match AS m ON m.linear_path = e.linear_path
  WHERE e.constant <> 0
) AS e JOIN coded AS v ON v.tag_path = e.tag_path AND v.constant = e.constant"""
"""The values that fulfil an equality, by the tag paths of each equality."""

HITS_OF_VALUES: Final = """SELECT v.value, e.equality FROM (
  SELECT v.value, m.linear_path, v.constant FROM coded AS v JOIN path_match AS m ON m.tag_path = v.tag_path
) AS v JOIN equality AS e ON e.linear_path = v.linear_path AND e.constant = v.constant"""
"""The same by the linear paths of each value."""

ACCESS_HITS: Final = """SELECT v.value, e.equality
FROM (SELECT equality, linear_path FROM equality WHERE constant = 0) AS e
JOIN path_match AS m ON m.linear_path = e.linear_path JOIN value AS v ON v.tag_path = m.tag_path"""
"""The values that access asks for."""

DOCUMENT_HITS: Final = """SELECT DISTINCT f.document, h.equality FROM fact AS f JOIN hit AS h ON h.value = f.value"""
"""What holds in each document."""

EXTENTS: Final = """SELECT f.document, v.tag_path, min(v.number) AS low, max(v.number) AS high, bool_or(v.nan) AS nan,
  min(v.text) AS low_text, max(v.text) AS high_text
FROM fact AS f JOIN value AS v ON v.value = f.value GROUP BY f.document, v.tag_path"""
"""The least and the greatest values at each tag path of each document."""

# -- conditions ----------------------------------------------------------------------------------------------------

CONDITION_PATHS: Final = "SELECT DISTINCT linear_path FROM predicate WHERE operator <> 0"
"""The linear paths that conditions are about."""

PATH_EXTENTS: Final = """SELECT x.document, m.linear_path, min(x.low) AS low, max(x.high) AS high,
  bool_or(x.nan) AS nan, min(x.low_text) AS low_text, max(x.high_text) AS high_text
FROM extent AS x JOIN path_match AS m ON m.tag_path = x.tag_path
JOIN condition_path AS p ON p.linear_path = m.linear_path GROUP BY x.document, m.linear_path"""
"""The least and the greatest values that they are about, in all documents."""

ASKED: Final = """SELECT c.document, c.conjunction, p.linear_path, p.operator, p.text, p.number FROM predicate AS p
JOIN {candidates} AS c ON c.conjunction = p.conjunction WHERE p.turn = {turn}"""
"""The conditions of the candidates that are looked at in a turn."""

ASKED_EXTENTS: Final = """SELECT a.document, a.linear_path, min(x.low) AS low, max(x.high) AS high,
  bool_or(x.nan) AS nan, min(x.low_text) AS low_text, max(x.high_text) AS high_text
FROM (SELECT DISTINCT document, linear_path FROM asked) AS a JOIN path_match AS m ON m.linear_path = a.linear_path
JOIN extent AS x ON x.document = a.document AND x.tag_path = m.tag_path GROUP BY a.document, a.linear_path"""
"""The least and the greatest values that these are about."""

TURN: Final = f"""SELECT p.document, p.conjunction FROM {{asked}} AS p
JOIN path_extent AS x ON x.document = p.document AND x.linear_path = p.linear_path WHERE {HOLDS}"""
"""The candidates whose conditions are fulfilled, up to that of a turn."""

SURVIVORS: Final = """SELECT c.document, c.conjunction, k.structure FROM {candidates} AS c
JOIN conjunction AS k ON k.conjunction = c.conjunction AND k.conditions = {turn}"""
"""Those of them that have no more conditions."""

EQUALITIES: Final = """SELECT c.document, c.conjunction FROM (
  SELECT c.document, p.conjunction, p.place, p.equality
  FROM predicate AS p JOIN candidate AS c ON c.conjunction = p.conjunction WHERE p.operator = 0
) AS c LEFT JOIN document_hit AS h ON h.document = c.document AND h.equality = c.equality
GROUP BY c.document, c.conjunction HAVING count(*) > count(h.equality)"""
"""The candidates some of whose equalities are not fulfilled."""

# -- branching points ----------------------------------------------------------------------------------------------

BRANCHES: Final = """SELECT c.document, p.conjunction, c.structure, p.place, p.linear_path, p.operator, p.equality,
  p.text, p.number, p.branching
FROM predicate AS p JOIN branching_candidate AS c ON c.conjunction = p.conjunction WHERE p.branching <> 0"""
"""The predicates below branching points, of the candidates that are left."""

LEAVES: Final = f"""SELECT p.document, p.conjunction, p.structure, p.place, p.branching, p.tag_path, h.fact
FROM (
  SELECT p.*, h.value, v.tag_path FROM branch AS p JOIN hit AS h ON h.equality = p.equality
  JOIN value AS v ON v.value = h.value WHERE p.operator = 0
) AS p JOIN fact AS h ON h.document = p.document AND h.value = p.value
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

PLACED: Final = """SELECT DISTINCT l.document, l.conjunction, l.structure, b.point, b.level, l.place AS part,
  b.placement, node_at(f.id_path, b.depth) AS node, l.fact
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

NUMBERS: Final = """SELECT s.document, k.number FROM ({found}) AS s
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


def _bounds(classes: int) -> str:
    return "".join(f" AND w.value_{number} >= s.bound_{number}" for number in range(classes))


CANDIDATES: Final = "w.document, s.conjunction, s.structure, s.rest"
"""What is needed of candidates that may have to be looked at further."""
WHOLE: Final = "w.document, s.number"
"""What is needed of those that need not."""


def unrolled(classes: int, wanted: str = CANDIDATES) -> str:
    """The candidates by their equality and all bounds at once."""
    columns = "".join(f", w.value_{number}" for number in range(classes))
    return (
        f"SELECT {wanted} FROM unrolled AS s JOIN ("
        f"SELECT h.document, h.equality{columns} FROM document_hit AS h JOIN wide_value AS w"
        f" ON w.document = h.document) AS w ON w.equality = s.equality{_bounds(classes)}"
    )


def probes(none: int, probe: int, buckets: int) -> str:
    """What rows are looked for: each equality with each bucket of which a value reaches the least bound."""
    found = (
        f"SELECT v.document, b.class * {buckets} + b.bucket AS part, v.value"
        " FROM class_value AS v JOIN bucket AS b ON b.class = v.class AND b.least <= v.value"
        f" UNION ALL SELECT w.document, {none * buckets}, CAST('Infinity' AS DOUBLE)"
        f" FROM wide_value AS w JOIN bucket AS b ON b.class = {none}"
    )
    return (
        f"SELECT h.document, h.equality * CAST({probe} AS BIGINT) + v.part AS probe, v.value"
        f" FROM document_hit AS h JOIN ({found}) AS v ON v.document = h.document"
    )


def bucketed(classes: int, wanted: str = CANDIDATES) -> str:
    """The candidates by equality and bucket, then by the bound of the bucket's class, then by all bounds."""
    return (
        f"SELECT {wanted} FROM bucketed AS s"
        " JOIN probe AS p ON p.probe = s.probe AND p.value >= s.bound"
        f" JOIN wide_value AS w ON w.document = p.document{_bounds(classes)}"
    )
