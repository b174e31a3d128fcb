(: over target: every pair is an offer :)
for $o in //offer where $o/instrument = "oboe" return <x>{$o/player}{$o/language}</x>

for $p in //player, $l in $p/language
where $p/instrument = "oboe"
return <x><player>{data($p/name)}</player><language>{data($l)}</language></x>

<x><player>Tove</player><language>Danish</language></x>
<x><player>Tove</player><language>Swedish</language></x>
<x><player>Ulf</player><language>Swedish</language></x>

====

(: over target: a player without a language makes no offer :)
//offer/player

for $p in //player
where $p/instrument and $p/language
return <player>{data($p/name)}</player>

<player>Tove</player>
<player>Ulf</player>

====

(: over target: one leaf needs the other list to be there :)
for $o in //offer where $o/language = "Swedish" return data($o/instrument)

for $p in //player, $i in $p/instrument
where $p/language = "Swedish"
return data($i)

"flute"
"oboe"

====

(: over target: offers without a town :)
//offer[empty(town)]/player

for $p in //player
where empty($p/town) and $p/instrument and $p/language
return <player>{data($p/name)}</player>

<player>Ulf</player>

====

(: over source: both lists :)
for $p in //player, $i in $p/instrument, $l in $p/language where $i = "oboe" return <x>{$p/name}{data($l)}</x>

for $o in //offer, $o2 in //offer[player = $o/player]
where $o/instrument = "oboe" and deep-equal(data($o/town), data($o2/town))
return <x><name>{data($o/player)}</name>{data($o2/language)}</x>

<x><name>Tove</name>Danish</x>
<x><name>Tove</name>Swedish</x>
<x><name>Ulf</name>Swedish</x>

====

(: over source: one list: the players that have the other are found :)
//instrument

for $i in //offer/instrument
return <instrument>{data($i)}</instrument>

<instrument>flute</instrument>
<instrument>oboe</instrument>

====

(: over source: two instruments of one player: players with equal leaves are one :)
for $p in //player, $i in $p/instrument, $j in $p/instrument where $i < $j return <x>{$p/name}{data($i)}, {data($j)}</x>

for $o in //offer, $o2 in //offer[player = $o/player]
where $o/instrument < $o2/instrument and deep-equal(data($o/town), data($o2/town))
return <x><name>{data($o/player)}</name>{data($o/instrument)}, {data($o2/instrument)}</x>

<x><name>Tove</name>flute, oboe</x>
