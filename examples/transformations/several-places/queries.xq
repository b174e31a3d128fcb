(: over target: one place :)
for $p in //person where $p/mail = "pia@example.org" return $p/name

for $e in //employee
where $e/mail = "pia@example.org"
return <name>{data($e/name)}</name>

<name>Pia</name>

====

(: over target: another place :)
//account/login

for $m in //employee/mail
return <login>{data($m)}</login>

<login>pia@example.org</login>
<login>siri@example.org</login>

====

(: over target: two places that always agree :)
for $a in //account where $a/login = $a/recovery return attribute owner {data($a/@owner)}

for $e in //employee
where exists($e/mail)
return attribute owner {data($e/@number)}

owner="e1"
owner="e3"

====

(: over target: two places that never differ :)
for $a in //account where $a/login != $a/recovery return attribute owner {data($a/@owner)}

()

()

lost: its conditions contradict each other, on every document

====

(: over target: both places are joined :)
for $p in //person, $a in //account where $a/@owner = $p/@number return <x>{$p/name}{$a/login}</x>

for $e in //employee
return <x><name>{data($e/name)}</name>{for $m in $e/mail return <login>{data($m)}</login>}</x>

<x><name>Pia</name><login>pia@example.org</login></x>
<x><name>Rolf</name></x>
<x><name>Siri</name><login>siri@example.org</login></x>

====

(: over target: one that is not there is nowhere there :)
for $a in //account where empty($a/login) return <x>{$a/@owner}</x>

for $e in //employee
where empty($e/mail)
return <x>{attribute owner {data($e/@number)}}</x>

<x owner="e2"/>

====

(: over source: any of the places will do :)
for $e in //employee where $e/mail = "pia@example.org" return $e/@number

(
  for $p in //person
  where $p/mail = "pia@example.org"
  return attribute number {data($p/@number)},
  for $a in //account
  where $a/login = "pia@example.org"
  return attribute number {data($a/@owner)},
  for $a in //account
  where $a/recovery = "pia@example.org"
  return attribute number {data($a/@owner)}
)

number="e1"

====

(: over source: what only one place has :)
//employee[empty(mail)]/boss

for $p in //person, $b in $p/boss
where empty($p/mail)
return <boss>{data($b)}</boss>

<boss>Pia</boss>

====

(: over source: mails :)
//employee/mail

(
  for $m in //person/mail
  return <mail>{data($m)}</mail>,
  for $l in //account/login
  return <mail>{data($l)}</mail>,
  for $r in //account/recovery
  return <mail>{data($r)}</mail>
)

<mail>pia@example.org</mail>
<mail>siri@example.org</mail>
