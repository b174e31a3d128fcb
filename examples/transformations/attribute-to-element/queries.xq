(: over target: an element in the asker's words :)
//part/weight

for $w in //part/@weight
return <weight>{data($w)}</weight>

<weight>2.50</weight>
<weight/>

====

(: over target: what repeats :)
for $p in //part, $c in $p/colour where $c != "red" return <x>{$p/number}{$c}</x>

for $p in //part, $c in $p/colour
where $c/@name != "red"
return <x><number>{data($p/@number)}</number><colour>{data($c/@name)}</colour></x>

<x><number>7</number><colour>blue</colour></x>
<x><number>9</number><colour/></x>

====

(: over target: the text node of an element, which an empty one has not :)
for $p in //part where $p/weight/text() return $p/number

for $p in //part
where $p/@weight != ""
return <number>{data($p/@number)}</number>

<number>7</number>

====

(: over source: an attribute is an item :)
//part/@number

for $n in //part/number
return attribute number {data($n)}

number="7"
number="8"
number="9"

====

(: over source: a part without a weight :)
//part[empty(@weight)]/@number

for $p in //part
where empty($p/weight)
return attribute number {data($p/number)}

number="9"

====

(: over source: the attribute of what repeats :)
for $p in //part where $p/colour/@name = "red" return <x>{$p/@weight}</x>

for $p in //part
where $p/colour = "red"
return <x>{for $w in $p/weight return attribute weight {data($w)}}</x>

<x weight="2.50"/>
