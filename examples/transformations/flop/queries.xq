(: over target: an author's books :)
for $a in //author where $a/name = "Per Holm" return $a/book/title

for $b in //book
where $b/author/name = "Per Holm"
return <title>{data($b/title)}</title>

<title>Tides</title>
<title>Dunes</title>

====

(: over target: two books of one author :)
for $a in //author, $b in $a/book, $c in $a/book where $b/title != $c/title return <pair>{$a/name}{data($b/title)}, {data($c/title)}</pair>

for $b in //book, $b2 in //book, $a in $b/author, $a2 in $b2/author[name = $a/name]
where $b/title != $b2/title and deep-equal(data($a/born), data($a2/born))
return <pair><name>{data($a/name)}</name>{data($b/title)}, {data($b2/title)}</pair>

<pair><name>Iris Falk</name>Tides, Dunes</pair>
<pair><name>Per Holm</name>Tides, Dunes</pair>
<pair><name>Iris Falk</name>Dunes, Tides</pair>
<pair><name>Per Holm</name>Dunes, Tides</pair>

====

(: over target: a book by nobody is not carried :)
//book/title

for $b in //book
where $b/author
return <title>{data($b/title)}</title>

<title>Tides</title>
<title>Dunes</title>

====

(: over source: the authors of a book :)
for $b in //book where $b/title = "Tides" return $b/author/name

for $a in //author
where $a/book/title = "Tides"
return <name>{data($a/name)}</name>

<name>Iris Falk</name>
<name>Per Holm</name>

====

(: over source: two authors of one book: books with equal leaves are one :)
for $b in //book, $a in $b/author, $c in $b/author where $a/name != $c/name return <with>{$b/title}{data($a/name)}</with>

for $a in //author, $a2 in //author, $b in $a/book, $b2 in $a2/book[title = $b/title]
where $a/name != $a2/name and deep-equal(data($b/year), data($b2/year))
return <with><title>{data($b/title)}</title>{data($a/name)}</with>

<with><title>Tides</title>Iris Falk</with>
<with><title>Dunes</title>Iris Falk</with>
<with><title>Tides</title>Per Holm</with>
<with><title>Dunes</title>Per Holm</with>

====

(: over source: books without year :)
//book[empty(year)]/title

for $b in //book
where empty($b/year)
return <title>{data($b/title)}</title>

<title>Dunes</title>
