(: over target: along the reference :)
for $o in //order, $c in //customer[@number = $o/@by] where $o/day = "Monday" return <x>{$c/name}{$o/article}</x>

for $s in //sale, $s2 in //sale[client = $s/client]
where $s/day = "Monday"
return <x><name>{data($s2/name)}</name><article>{data($s/article)}</article></x>

<x><name>Ines</name><article>lamp</article></x>
<x><name>Joel</name><article>lamp</article></x>

====

(: over target: a customer :)
for $c in //customer return <c>{$c/@number}{$c/city}</c>

for $s in //sale
return <c>{attribute number {data($s/client)}}{for $c in $s/city return <city>{data($c)}</city>}</c>

<c number="k1"><city>Porto</city></c>
<c number="k2"/>

====

(: over target: orders of one city :)
for $c in //customer, $o in //order where $o/@by = $c/@number and $c/city = "Porto" return $o/article

for $s in //sale, $s2 in //sale[client = $s/client]
where $s/city = "Porto"
return <article>{data($s2/article)}</article>

<article>lamp</article>
<article>chair</article>

====

(: over source: what stands in the customer beside what stands in the order :)
for $s in //sale where $s/article = "lamp" return <x>{$s/name}{$s/day}</x>

for $c in //customer, $o in //order[@by = $c/@number]
where $o/article = "lamp"
return <x><name>{data($c/name)}</name>{for $d in $o/day return <day>{data($d)}</day>}</x>

<x><name>Ines</name><day>Monday</day></x>
<x><name>Joel</name><day>Monday</day></x>

====

(: over source: what stands in the order :)
for $s in //sale where $s/client = "k1" return $s/article

for $o in //order
where $o/@by = "k1"
return <article>{data($o/article)}</article>

<article>lamp</article>
<article>chair</article>

====

(: over source: what stands in the customer :)
for $s in //sale where $s/city = "Porto" return <x>{data($s/client)}</x>

for $c in //customer[@number = //order/@by]
where $c/city = "Porto"
return <x>{data($c/@number)}</x>

<x>k1</x>
