(: over target: an attribute is an item :)
//part/@number

for $n in //part/number
return attribute number {data($n)}

number="7"
number="8"
number="9"

====

(: over target: by weight :)
//part[@weight = '2.50']/@number

for $p in //part
where $p/weight = "2.50"
return attribute number {data($p/number)}

number="7"

====

(: over target: the attribute of what repeats :)
for $p in //part where $p/colour/@name = "red" return <x>{$p/@weight}</x>

for $p in //part
where $p/colour = "red"
return <x>{for $w in $p/weight return attribute weight {data($w)}}</x>

<x weight="2.50"/>

====

(: over target: equal colours of one part are one :)
for $p in //part, $c in $p/colour return <c>{$p/@number}{data($c/@name)}</c>

for $p in //part, $c in $p/colour
return <c>{attribute number {data($p/number)}}{data($c)}</c>

<c number="7">red</c>
<c number="7">blue</c>
<c number="9"/>

====

(: over source: an element in the asker's words :)
//part/weight

for $w in //part/@weight
return <weight>{data($w)}</weight>

<weight>2.50</weight>
<weight/>

====

(: over source: what repeats :)
for $p in //part, $c in $p/colour where $c != "red" return <x>{$p/number}{$c}</x>

for $p in //part, $c in $p/colour
where $c/@name != "red"
return <x><number>{data($p/@number)}</number><colour>{data($c/@name)}</colour></x>

<x><number>7</number><colour>blue</colour></x>
<x><number>9</number><colour/></x>

====

(: over source: the text node of an element :)
for $p in //part where $p/weight/text() return $p/number

for $p in //part
where $p/@weight != ""
return <number>{data($p/@number)}</number>

<number>7</number>

====

(: over source: colours without a condition :)
//colour

for $n in //colour/@name
return <colour>{data($n)}</colour>

<colour>red</colour>
<colour>blue</colour>
<colour/>
