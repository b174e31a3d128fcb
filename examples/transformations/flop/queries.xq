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

for $b in //book, $b2 in //book, $a in $b/author, $a2 in $b2/author[born = $a/born][name = $a/name]
where $b/title != $b2/title
return <pair><name>{data($a/name)}</name>{data($b/title)}, {data($b2/title)}</pair>

<pair><name>Iris Falk</name>Tides, Dunes</pair>
<pair><name>Iris Falk</name>Dunes, Tides</pair>

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

(: over source: two authors of one book, which might be two of one title :)
for $b in //book, $a in $b/author, $c in $b/author where $a/name != $c/name return <with>{$b/title}{data($a/name)}</with>

()

()

lost: what the rules carry cannot be joined again with certainty

====

(: over source: books without year :)
//book[empty(year)]/title

for $b in //book
where empty($b/year)
return <title>{data($b/title)}</title>

<title>Dunes</title>
