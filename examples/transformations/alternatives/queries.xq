(: over target: a union :)
for $c in //contact where $c/person = "Mia" return $c/phone

(
  for $m in //member, $h in $m/home
  where $m/name = "Mia"
  return <phone>{data($h)}</phone>,
  for $m in //member, $o in $m/office
  where $m/name = "Mia"
  return <phone>{data($o)}</phone>,
  for $m in //member, $m2 in $m/mobile
  where $m/name = "Mia"
  return <phone>{data($m2)}</phone>
)

<phone>11</phone>
<phone>22</phone>
<phone>33</phone>

====

(: over target: all three :)
//phone

(
  for $h in //member/home
  return <phone>{data($h)}</phone>,
  for $o in //member/office
  return <phone>{data($o)}</phone>,
  for $m in //mobile
  return <phone>{data($m)}</phone>
)

<phone>11</phone>
<phone>22</phone>
<phone>33</phone>

====

(: over target: a person is there without any :)
//contact/person

for $n in //member/name
return <person>{data($n)}</person>

<person>Mia</person>
<person>Nils</person>
<person>Olga</person>

====

(: over target: two phones of one person :)
for $c in //contact, $p in $c/phone, $q in $c/phone where $p < $q return <x>{$c/person}{data($p)}, {data($q)}</x>

(
  for $m in //member, $m2 in //member[name = $m/name]
  where $m/home < $m2/home
  return <x><person>{data($m/name)}</person>{data($m/home)}, {data($m2/home)}</x>,
  for $m in //member, $m2 in //member[name = $m/name]
  where $m/home < $m2/office
  return <x><person>{data($m/name)}</person>{data($m/home)}, {data($m2/office)}</x>,
  for $m in //member, $m2 in //member[name = $m/name], $m3 in $m2/mobile
  where $m/home < $m3
  return <x><person>{data($m/name)}</person>{data($m/home)}, {data($m3)}</x>,
  for $m in //member, $m2 in //member[name = $m/name]
  where $m/office < $m2/home
  return <x><person>{data($m/name)}</person>{data($m/office)}, {data($m2/home)}</x>,
  for $m in //member, $m2 in //member[name = $m/name]
  where $m/office < $m2/office
  return <x><person>{data($m/name)}</person>{data($m/office)}, {data($m2/office)}</x>,
  for $m in //member, $m2 in //member[name = $m/name], $m3 in $m2/mobile
  where $m/office < $m3
  return <x><person>{data($m/name)}</person>{data($m/office)}, {data($m3)}</x>,
  for $m in //member, $m2 in //member[name = $m/name], $m3 in $m/mobile
  where $m3 < $m2/home
  return <x><person>{data($m/name)}</person>{data($m3)}, {data($m2/home)}</x>,
  for $m in //member, $m2 in //member[name = $m/name], $m3 in $m/mobile
  where $m3 < $m2/office
  return <x><person>{data($m/name)}</person>{data($m3)}, {data($m2/office)}</x>,
  for $m in //member, $m2 in //member[name = $m/name], $m3 in $m/mobile, $m4 in $m2/mobile
  where $m3 < $m4
  return <x><person>{data($m/name)}</person>{data($m3)}, {data($m4)}</x>
)

<x><person>Mia</person>11, 22</x>
<x><person>Mia</person>11, 33</x>
<x><person>Mia</person>22, 33</x>

====

(: over target: people who share a phone :)
for $c in //contact, $d in //contact where $c/phone = $d/phone and $c/person < $d/person return <x>{data($c/person)}, {data($d/person)}</x>

(
  for $m in //member, $m2 in //member[home = $m/home]
  where $m/name < $m2/name
  return <x>{data($m/name)}, {data($m2/name)}</x>,
  for $m in //member, $m2 in //member[office = $m/home]
  where $m/name < $m2/name
  return <x>{data($m/name)}, {data($m2/name)}</x>,
  for $m in //member, $m2 in //member[mobile = $m/home]
  where $m/name < $m2/name
  return <x>{data($m/name)}, {data($m2/name)}</x>,
  for $m in //member, $m2 in //member[home = $m/office]
  where $m/name < $m2/name
  return <x>{data($m/name)}, {data($m2/name)}</x>,
  for $m in //member, $m2 in //member[office = $m/office]
  where $m/name < $m2/name
  return <x>{data($m/name)}, {data($m2/name)}</x>,
  for $m in //member, $m2 in //member[mobile = $m/office]
  where $m/name < $m2/name
  return <x>{data($m/name)}, {data($m2/name)}</x>,
  for $m in //member, $m2 in //member[home = $m/mobile]
  where $m/name < $m2/name
  return <x>{data($m/name)}, {data($m2/name)}</x>,
  for $m in //member, $m2 in //member[office = $m/mobile]
  where $m/name < $m2/name
  return <x>{data($m/name)}, {data($m2/name)}</x>,
  for $m in //member, $m2 in //member[mobile = $m/mobile]
  where $m/name < $m2/name
  return <x>{data($m/name)}, {data($m2/name)}</x>
)

<x>Mia, Nils</x>

====

(: over source: each phone is taken back to all of them :)
for $m in //member return <x>{$m/name}{$m/office}</x>

for $c in //contact, $p in $c/phone
return <x><name>{data($c/person)}</name><office>{data($p)}</office></x>

<x><name>Mia</name><office>11</office></x>
<x><name>Mia</name><office>22</office></x>
<x><name>Mia</name><office>33</office></x>
<x><name>Nils</name><office>22</office></x>

====

(: over source: all of them together :)
(
  for $p in //member/home return <p>{data($p)}</p>,
  for $p in //member/office return <p>{data($p)}</p>,
  for $p in //member/mobile return <p>{data($p)}</p>
)

for $p in //phone
return <p>{data($p)}</p>

<p>11</p>
<p>22</p>
<p>33</p>

====

(: over source: and is found as each of them :)
for $m in //member where $m/home = "11" return $m/name

for $c in //contact
where $c/phone = "11"
return <name>{data($c/person)}</name>

<name>Mia</name>

====

(: over source: any of them :)
for $m in //member where $m/home = "22" or $m/office = "22" or $m/mobile = "22" return $m/name

for $c in //contact
where $c/phone = "22"
return <name>{data($c/person)}</name>

<name>Mia</name>
<name>Nils</name>
