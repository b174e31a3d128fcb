(: over target: what is in the new node :)
//address/town

for $t in //person/town
return <town>{data($t)}</town>

<town>Bergen</town>

====

(: over target: the new node exists by what is in it :)
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
<name>Bo</name>

====

(: over target: a person without an address :)
for $p in //person where empty($p/address/street) return <x>{$p/name}{$p/address/town}</x>

for $p in //person
where empty($p/street)
return <x><name>{data($p/name)}</name>{for $t in $p/town return <town>{data($t)}</town>}</x>

<x><name>Bo</name><town>Bergen</town></x>
<x><name>Cia</name></x>

====

(: over target: the note is empty :)
for $p in //person return <x>{$p/name}{$p/note}</x>

for $p in //person
return <x><name>{data($p/name)}</name></x>

<x><name>Ask</name></x>
<x><name>Bo</name></x>
<x><name>Cia</name></x>

lost: entries/person/note: no arrow supplies it: its place in the answer stays empty

====

(: over target: a note is never there :)
//person[note]/name

()

()

lost: entries/person/note: no arrow supplies it, and the query needs it

====

(: over target: no person has a note :)
//person[empty(note)]/name

for $n in //person/name
return <name>{data($n)}</name>

<name>Ask</name>
<name>Bo</name>
<name>Cia</name>

lost: entries/person/note: no arrow supplies it: it is taken to be absent everywhere

====

(: over target: the new node as a variable :)
for $a in //address where $a/town = "Bergen" return <x>{$a/street}</x>

for $p in //person
where $p/town = "Bergen"
return <x>{for $s in $p/street return <street>{data($s)}</street>}</x>

<x><street>Elm Road 1</street></x>
<x/>

====

(: over target: the new node above all others :)
for $e in /directory/entries return <there/>

for $p in //person
return <there/>

<there/>

====

(: over target: a whole new node would have to be made :)
//address

(
  for $p in //person
  where exists($p/street)
  return <address><street>{data($p/street)}</street>{for $t in $p/town return <town>{data($t)}</town>}</address>,
  for $p in //person
  where exists($p/town)
  return <address>{for $s in $p/street return <street>{data($s)}</street>}<town>{data($p/town)}</town></address>
)

<address><street>Elm Road 1</street><town>Bergen</town></address>
<address><town>Bergen</town></address>

====

(: over source: a town :)
for $p in //person where $p/town = "Bergen" return $p/name

for $p in //person
where $p/address/town = "Bergen"
return <name>{data($p/name)}</name>

<name>Ask</name>
<name>Bo</name>

====

(: over source: without a street :)
//person[empty(street)]/name

for $p in //person
where empty($p/address/street)
return <name>{data($p/name)}</name>

<name>Bo</name>
<name>Cia</name>
