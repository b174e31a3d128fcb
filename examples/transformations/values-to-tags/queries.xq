(: over target: a tag is a value :)
//book/title

for $a in //article
where $a/kind = "book"
return <title>{data($a/name)}</title>

<title>Tides</title>
<title>Dunes</title>

====

(: over target: the box is open :)
//board_x0020_game/price

for $a in //article, $p in $a/price
where $a/kind = "board game"
return <price>{data($p)}</price>

<price>30</price>

====

(: over target: a tag that is escaped without need is no article's :)
//_x0062_ook/title

()

()

lost: no node _x0062_ook anywhere in the schema (the root is shelf)

====

(: over target: a value that is a name of the schema :)
//_x0070_rice/title

for $a in //article
where $a/kind = "price"
return <title>{data($a/name)}</title>

<title>Silver cup</title>

====

(: over target: any tag :)
/shelf/*/title

for $a in //article
where exists($a/kind)
return <title>{data($a/name)}</title>

<title>Tides</title>
<title>Dunes</title>
<title>Go</title>
<title>Silver cup</title>
<title>Odd thing</title>

====

(: over target: a step over both members :)
for $x in /shelf/(book | film) where empty($x/price) return $x/title

(
  for $a in //article
  where $a/kind = "book" and empty($a/price)
  return <title>{data($a/name)}</title>,
  for $a in //article
  where $a/kind = "film" and empty($a/price)
  return <title>{data($a/name)}</title>
)

<title>Dunes</title>
<title>Tides</title>

====

(: over source: a value is a tag :)
for $a in //article where $a/kind = "film" return $a/name

for $t in //film/title
return <name>{data($t)}</name>

<name>Tides</name>

====

(: over source: a kind that is returned is read from the tag :)
for $a in //article where $a/name = "Tides" return <x>{$a/kind}</x>

for $k in /shelf/*
where $k/title = "Tides"
return <x><kind>{data(parse-xml-fragment(replace(replace(local-name($k), "^_x(00)?0000_$", ""), "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_", "&amp;#x$1;")))}</kind></x>

<x><kind>book</kind></x>
<x><kind>film</kind></x>

====

(: over source: kinds are compared by their values :)
for $a in //article, $b in //article where $a/kind = $b/kind and $a/name != $b/name return <x>{data($a/name)}, {data($b/name)}</x>

for $k in /shelf/*,
    $k2 in /shelf/*[data(parse-xml-fragment(replace(replace(local-name(.), "^_x(00)?0000_$", ""), "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_", "&amp;#x$1;"))) = data(parse-xml-fragment(replace(replace(local-name($k), "^_x(00)?0000_$", ""), "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_", "&amp;#x$1;")))]
where $k/title != $k2/title
return <x>{data($k/title)}, {data($k2/title)}</x>

<x>Tides, Dunes</x>
<x>Dunes, Tides</x>

====

(: over source: an article without a kind is not carried :)
for $a in //article where empty($a/kind) return $a/name

()

()

lost: its conditions contradict each other, on every document

====

(: over source: a name :)
//article/name

for $t in /shelf/*/title
return <name>{data($t)}</name>

<name>Tides</name>
<name>Dunes</name>
<name>Go</name>
<name>Silver cup</name>
<name>Odd thing</name>
