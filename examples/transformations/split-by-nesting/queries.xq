(: over target: the two lists are independent :)
for $p in //player, $i in $p/instrument, $l in $p/language where $i = "oboe" return <x>{$p/name}{data($l)}</x>

for $o in //offer, $o2 in //offer[player = $o/player]
where $o/instrument = "oboe" and deep-equal(data($o/town), data($o2/town))
return <x><name>{data($o/player)}</name>{data($o2/language)}</x>

<x><name>Tove</name>Danish</x>
<x><name>Tove</name>Swedish</x>
<x><name>Ulf</name>Swedish</x>

====

(: over target: what one list says needs no more than an offer :)
//player/instrument

for $i in //offer/instrument
return <instrument>{data($i)}</instrument>

<instrument>flute</instrument>
<instrument>oboe</instrument>
<instrument>harp</instrument>

====

(: over target: a player by two things of the same list :)
for $p in //player where $p/language = "Danish" and $p/language = "Swedish" return $p/name

for $o in //offer, $o2 in //offer[player = $o/player]
where $o/language = "Danish" and $o2/language = "Swedish" and deep-equal(data($o/town), data($o2/town))
return <name>{data($o/player)}</name>

<name>Tove</name>

====

(: over source: which language stood beside an instrument is known where there is no town: such a player is one offer :)
for $o in //offer where $o/instrument = "oboe" return <x>{$o/player}{$o/language}</x>

for $p in //player, $l in $p/language
where $p/instrument = "oboe"
return <x><player>{data($p/name)}</player><language>{data($l)}</language></x>

<x><player>Tove</player><language>Danish</language></x>
<x><player>Tove</player><language>Swedish</language></x>
<x><player>Ulf</player><language>Swedish</language></x>

====

(: over source: what asks one list only :)
for $o in //offer where $o/instrument = "oboe" return <x>{$o/player}{$o/town}</x>

for $p in //player
where $p/instrument = "oboe" and $p/language
return <x><player>{data($p/name)}</player>{for $t in $p/town return <town>{data($t)}</town>}</x>

<x><player>Tove</player><town>Lund</town></x>
<x><player>Ulf</player></x>

====

(: over source: offers of the same player :)
for $o in //offer, $q in //offer where $o/player = $q/player and $o/instrument = "flute" return $q/language

for $p in //player, $p2 in //player[name = $p/name], $l in $p2/language
where $p/instrument = "flute" and $p/language and $p2/instrument
return <language>{data($l)}</language>

<language>Danish</language>
<language>Swedish</language>
