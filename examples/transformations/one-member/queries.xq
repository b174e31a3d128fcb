(: over target: one member :)
//film[length = "95"]/title

for $a in //article
where $a/kind = "film" and $a/minutes = "95"
return <title>{data($a/name)}</title>

<title>Tides</title>

====

(: over target: what comes from another place in each member :)
//length

(
  for $a in //article, $p in $a/pages
  where $a/kind = "book"
  return <length>{data($p)}</length>,
  for $a in //article, $m in $a/minutes
  where $a/kind = "film"
  return <length>{data($m)}</length>
)

<length>320</length>
<length>90</length>
<length>95</length>

====

(: over target: what all members share is asked for without a word about kinds :)
/shelf/*/title

for $a in //article
where exists($a/kind)
return <title>{data($a/name)}</title>

<title>Tides</title>
<title>Dunes</title>
<title>Gusts</title>
<title>Go</title>

====

(: over target: neither a book nor a film has a length here :)
//game/length

()

()

lost: its conditions contradict each other, on every document

====

(: over target: without a length :)
for $x in /shelf/* where empty($x/length) return $x/title

(
  for $a in //article
  where $a/kind = "book" and empty($a/pages)
  return <title>{data($a/name)}</title>,
  for $a in //article
  where $a/kind = "film" and empty($a/minutes)
  return <title>{data($a/name)}</title>,
  for $a in //article
  where $a/kind != "book" and $a/kind != "film"
  return <title>{data($a/name)}</title>
)

<title>Gusts</title>
<title>Go</title>

====

(: over source: a book's pages are its length :)
for $a in //article where $a/kind = "book" return <x>{$a/pages}</x>

for $b in //book
return <x>{for $l in $b/length return <pages>{data($l)}</pages>}</x>

<x><pages>320</pages></x>
<x><pages>90</pages></x>

====

(: over source: the pages that are carried are those of books :)
//article/pages

for $l in //book/length
return <pages>{data($l)}</pages>

<pages>320</pages>
<pages>90</pages>

====

(: over source: a name, and what is known of one kind :)
for $a in //article where $a/kind = "film" and $a/minutes = "95" return $a/name

for $f in //film
where $f/length = "95"
return <name>{data($f/title)}</name>

<name>Tides</name>

====

(: over source: minutes of other kinds are not carried :)
for $a in //article where $a/kind = "game" return $a/minutes

()

()

lost: its conditions contradict each other, on every document
