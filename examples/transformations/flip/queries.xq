(: over target: the authors of a book :)
for $b in //book where $b/title = "Tides" return $b/author/name

for $a in //author
where $a/book/title = "Tides"
return <name>{data($a/name)}</name>

<name>Iris Falk</name>
<name>Per Holm</name>

====

(: over target: books with equal leaves are one, without a year too :)
for $b in //book, $a in $b/author, $c in $b/author where $a/name != $c/name return <with>{$b/title}{data($a/name)}, {data($c/name)}</with>

for $a in //author, $a2 in //author, $b in $a/book, $b2 in $a2/book[title = $b/title]
where $a/name != $a2/name and deep-equal(data($b/year), data($b2/year))
return <with><title>{data($b/title)}</title>{data($a/name)}, {data($a2/name)}</with>

<with><title>Tides</title>Iris Falk, Per Holm</with>
<with><title>Dunes</title>Iris Falk, Per Holm</with>
<with><title>Tides</title>Per Holm, Iris Falk</with>
<with><title>Dunes</title>Per Holm, Iris Falk</with>

====

(: over target: only authors of books are there :)
//author/name

for $a in //author
where $a/book
return <name>{data($a/name)}</name>

<name>Iris Falk</name>
<name>Per Holm</name>

====

(: over source: an author's books :)
for $a in //author where $a/name = "Per Holm" return $a/book/title

for $b in //book
where $b/author/name = "Per Holm"
return <title>{data($b/title)}</title>

<title>Tides</title>
<title>Dunes</title>

====

(: over source: two books of one author: authors with equal leaves are one :)
for $a in //author, $b in $a/book, $c in $a/book where $b/title != $c/title return <pair>{$a/name}{data($b/title)}, {data($c/title)}</pair>

for $b in //book, $b2 in //book, $a in $b/author, $a2 in $b2/author[name = $a/name]
where $b/title != $b2/title and deep-equal(data($a/born), data($a2/born))
return <pair><name>{data($a/name)}</name>{data($b/title)}, {data($b2/title)}</pair>

<pair><name>Iris Falk</name>Tides, Dunes</pair>
<pair><name>Per Holm</name>Tides, Dunes</pair>
<pair><name>Iris Falk</name>Dunes, Tides</pair>
<pair><name>Per Holm</name>Dunes, Tides</pair>

====

(: over source: an author without a year of birth :)
for $a in //author, $b in $a/book where empty($a/born) return <x>{$a/name}{$b/title}{$b/year}</x>

for $b in //book, $a in $b/author
where empty($a/born)
return <x><name>{data($a/name)}</name><title>{data($b/title)}</title>{for $y in $b/year return <year>{data($y)}</year>}</x>

<x><name>Per Holm</name><title>Tides</title><year>1970</year></x>
<x><name>Per Holm</name><title>Dunes</title></x>

====

(: over source: books that two authors share :)
for $a in //author, $b in $a/book, $c in //author, $d in $c/book where $b/title = $d/title and $b/year = $d/year and $a/name < $c/name return <x>{data($a/name)}, {data($c/name)}</x>

for $b in //book, $b2 in //book[title = $b/title][year = $b/year], $a in $b/author, $a2 in $b2/author
where $a/name < $a2/name
return <x>{data($a/name)}, {data($a2/name)}</x>

<x>Iris Falk, Per Holm</x>
