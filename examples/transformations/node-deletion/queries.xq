(: over target: what is left :)
for $p in //person where $p/town = "Bergen" return <x>{$p/name}{$p/street}</x>

for $p in //person
where $p/address/town = "Bergen"
return <x><name>{data($p/name)}</name>{for $s in $p/address/street return <street>{data($s)}</street>}</x>

<x><name>Ask</name><street>Elm Road 1</street></x>

====

(: over target: without a street :)
//person[empty(street)]/name

for $p in //person
where empty($p/address/street)
return <name>{data($p/name)}</name>

<name>Bo</name>
<name>Cia</name>

====

(: over source: the deleted node is passed through :)
//address/town

for $t in //person/town
return <town>{data($t)}</town>

<town>Bergen</town>

====

(: over source: an address that is known to be there :)
for $p in //person where $p/address return $p/name

(
  for $p in //person
  where exists($p/street)
  return <name>{data($p/name)}</name>,
  for $p in //person
  where exists($p/town)
  return <name>{data($p/name)}</name>
)

<name>Ask</name>

====

(: over source: a note is not carried: its place stays empty :)
for $p in //person return <x>{$p/name}{$p/note}</x>

for $p in //person
return <x><name>{data($p/name)}</name></x>

<x><name>Ask</name></x>
<x><name>Bo</name></x>
<x><name>Cia</name></x>

lost: entries/person/note: no arrow supplies it: its place in the answer stays empty

====

(: over source: so no person has a note :)
//person[empty(note)]/name

for $n in //person/name
return <name>{data($n)}</name>

<name>Ask</name>
<name>Bo</name>
<name>Cia</name>

lost: entries/person/note: no arrow supplies it: it is taken to be absent everywhere

====

(: over source: without a street :)
for $p in //person where empty($p/address/street) return $p/name

for $p in //person
where empty($p/street)
return <name>{data($p/name)}</name>

<name>Bo</name>
<name>Cia</name>
