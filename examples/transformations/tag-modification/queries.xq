(: over target: answers keep the asker's names :)
for $c in //cow where $c/born = "2019" return $c/name

for $v in //vache
where $v/naissance = "2019"
return <name>{data($v/nom)}</name>

<name>Marguerite</name>

====

(: over target: over the reference :)
for $c in //cow, $m in //cow[@tag = $c/@mother] return <calf>{$c/name}{data($m/name)}</calf>

for $v in //vache, $v2 in //vache[@boucle = $v/@mère]
return <calf><name>{data($v/nom)}</name>{data($v2/nom)}</calf>

<calf><name>Blanchette</name>Marguerite</calf>
<calf><name>Noiraude</name>Marguerite</calf>

====

(: over target: a number is compared as a number :)
//cow[born >= 2020]/@tag

for $v in //vache
where $v/naissance >= 2020
return attribute tag {data($v/@boucle)}

tag="f2"

====

(: over source: the other way :)
for $v in //vache where empty($v/@mère) return $v/nom

for $c in //cow
where empty($c/@mother)
return <nom>{data($c/name)}</nom>

<nom>Marguerite</nom>

====

(: over source: a wildcard :)
//vache/*

(
  for $n in //cow/name
  return <nom>{data($n)}</nom>,
  for $b in //cow/born
  return <naissance>{data($b)}</naissance>
)

<nom>Marguerite</nom>
<nom>Blanchette</nom>
<nom>Noiraude</nom>
<naissance>2019</naissance>
<naissance>2023</naissance>

====

(: over source: text nodes are items :)
/ferme/vache/nom/text()

for $c in //cow
where $c/name != ""
return text {data($c/name)}

Marguerite
Blanchette
Noiraude
