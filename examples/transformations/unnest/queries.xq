(: over target: the nesting of the courses comes back :)
//course/department

for $d in //department
where $d/course
return <department>{data($d/name)}</department>

<department>Botany</department>
<department>Chemistry</department>

====

(: over target: a course with what stands above it :)
for $c in //course where $c/building = "Linden Hall" return <x>{$c/code}{$c/teacher}</x>

for $d in //department, $c in $d/course
where $d/building = "Linden Hall"
return <x><code>{data($c/@code)}</code>{for $t in $c/teacher return <teacher>{data($t)}</teacher>}</x>

<x><code>B1</code><teacher>Abel</teacher></x>
<x><code>B2</code></x>

====

(: over target: what is absent here is absent there :)
for $c in //course where empty($c/building) return $c/title

for $d in //department, $t in $d/course/title
where empty($d/building)
return <title>{data($t)}</title>

<title>Salts</title>

====

(: over target: two courses of one teacher :)
for $c in //course, $d in //course where $c/teacher = $d/teacher and $c/department != $d/department return <both>{data($c/code)}, {data($d/code)}</both>

for $d in //department, $d2 in //department, $c in $d/course, $c2 in $d2/course[teacher = $c/teacher]
where $d/name != $d2/name
return <both>{data($c/@code)}, {data($c2/@code)}</both>

<both>B1, C1</both>
<both>C1, B1</both>

====

(: over source: a department without courses is not carried :)
//department/name

for $d in //course/department
return <name>{data($d)}</name>

<name>Botany</name>
<name>Chemistry</name>

====

(: over source: two courses of one department: departments with equal leaves are one :)
for $d in //department, $c in $d/course, $e in $d/course where $c/@code != $e/@code return <pair>{data($c/title)}, {data($e/title)}</pair>

for $c in //course, $c2 in //course[department = $c/department]
where $c/code != $c2/code and deep-equal(data($c/building), data($c2/building))
return <pair>{data($c/title)}, {data($c2/title)}</pair>

<pair>Mosses, Ferns</pair>
<pair>Ferns, Mosses</pair>

====

(: over source: the inner element carries its course :)
for $d in //department, $c in $d/course where $d/name = "Botany" return <x code="{$c/@code}">{$c/title}</x>

for $c in //course
where $c/department = "Botany"
return <x code="{data($c/code)}"><title>{data($c/title)}</title></x>

<x code="B1"><title>Mosses</title></x>
<x code="B2"><title>Ferns</title></x>

====

(: over source: the courses of a department are gathered :)
for $d in //department return <d>{$d/course/title}</d>

for $c in //course
return <d>{for $c2 in //course[department = $c/department] where deep-equal(data($c/building), data($c2/building)) return <title>{data($c2/title)}</title>}</d>

<d><title>Mosses</title><title>Ferns</title></d>
<d><title>Salts</title></d>
