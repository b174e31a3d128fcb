(: over target: the departments that have courses :)
//department/name

for $d in //course/department
return <name>{data($d)}</name>

<name>Botany</name>
<name>Chemistry</name>

====

(: over target: two courses of one department are two courses with equal department and building :)
for $d in //department, $c in $d/course, $e in $d/course where $c/@code != $e/@code return <pair>{data($c/title)}, {data($e/title)}</pair>

for $c in //course, $c2 in //course[department = $c/department]
where $c/code != $c2/code and deep-equal(data($c/building), data($c2/building))
return <pair>{data($c/title)}, {data($c2/title)}</pair>

<pair>Mosses, Ferns</pair>
<pair>Salts, Gases</pair>
<pair>Ferns, Mosses</pair>
<pair>Gases, Salts</pair>

====

(: over target: where the building is absent, each course has its department :)
for $d in //department, $c in $d/course where empty($d/building) return <x>{$d/name}{$c/title}</x>

for $c in //course
where empty($c/building)
return <x><name>{data($c/department)}</name><title>{data($c/title)}</title></x>

<x><name>Chemistry</name><title>Salts</title></x>
<x><name>Chemistry</name><title>Gases</title></x>

====

(: over target: a bare attribute is an item :)
for $d in //department where $d/name = "Botany" return $d/course/@code

for $c in //course
where $c/department = "Botany"
return attribute code {data($c/code)}

code="B1"
code="B2"

====

(: over source: what is flat is found in its nesting :)
for $c in //course where $c/department = "Chemistry" return <x>{$c/title}{$c/teacher}</x>

for $d in //department, $c in $d/course
where $d/name = "Chemistry"
return <x><title>{data($c/title)}</title>{for $t in $c/teacher return <teacher>{data($t)}</teacher>}</x>

<x><title>Salts</title><teacher>Abel</teacher></x>
<x><title>Gases</title></x>

====

(: over source: courses of the same department, by value :)
for $c in //course, $d in //course where $c/department = $d/department and $c/code != $d/code return <pair>{data($c/code)}, {data($d/code)}</pair>

for $d in //department, $d2 in //department[name = $d/name], $c in $d/course, $c2 in $d2/course
where $c/@code != $c2/@code
return <pair>{data($c/@code)}, {data($c2/@code)}</pair>

<pair>B1, B2</pair>
<pair>B2, B1</pair>
<pair>C1, C2</pair>
<pair>C2, C1</pair>

====

(: over source: courses in no building :)
//course[empty(building)]/title

for $d in //department, $t in $d/course/title
where empty($d/building)
return <title>{data($t)}</title>

<title>Salts</title>
<title>Gases</title>
