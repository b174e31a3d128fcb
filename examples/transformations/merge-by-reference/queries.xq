(: over target: the join comes back :)
for $s in //sale where $s/article = "lamp" return <x>{$s/name}{$s/day}</x>

for $c in //customer, $o in //order[@by = $c/@number]
where $o/article = "lamp"
return <x><name>{data($c/name)}</name>{for $d in $o/day return <day>{data($d)}</day>}</x>

<x><name>Ines</name><day>Monday</day></x>
<x><name>Joel</name><day>Monday</day></x>

====

(: over target: what the order says alone needs no join, since the reference is guaranteed :)
//sale/article

for $a in //order/article
return <article>{data($a)}</article>

<article>lamp</article>
<article>chair</article>

====

(: over target: only customers with orders :)
//sale/name

for $c in //customer[@number = //order/@by]
return <name>{data($c/name)}</name>

<name>Ines</name>
<name>Joel</name>

====

(: over target: the reference itself :)
for $s in //sale where $s/name = "Ines" return $s/client

for $c in //customer[@number = //order/@by]
where $c/name = "Ines"
return <client>{data($c/@number)}</client>

<client>k1</client>

====

(: over source: along the reference :)
for $o in //order, $c in //customer[@number = $o/@by] where $o/day = "Monday" return <x>{$c/name}{$o/article}</x>

for $s in //sale, $s2 in //sale[client = $s/client]
where $s/day = "Monday"
return <x><name>{data($s2/name)}</name><article>{data($s/article)}</article></x>

<x><name>Ines</name><article>lamp</article></x>
<x><name>Joel</name><article>lamp</article></x>

====

(: over source: orders of the same customer, by the key :)
for $o in //order, $p in //order where $o/@by = $p/@by and $o/article != $p/article return <x>{data($o/article)}, {data($p/article)}</x>

for $s in //sale, $s2 in //sale[client = $s/client]
where $s/article != $s2/article
return <x>{data($s/article)}, {data($s2/article)}</x>

<x>lamp, chair</x>
<x>chair, lamp</x>

====

(: over source: customers without orders are not carried :)
//customer/name

for $n in //sale/name
return <name>{data($n)}</name>

<name>Ines</name>
<name>Joel</name>

====

(: over source: customers in no city :)
for $c in //customer where empty($c/city) return <x>{$c/@number}</x>

for $s in //sale
where empty($s/city)
return <x>{attribute number {data($s/client)}}</x>

<x number="k2"/>
