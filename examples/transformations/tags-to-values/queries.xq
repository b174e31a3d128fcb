(: over target: a value is a tag :)
for $a in //article where $a/kind = "film" return $a/name

for $t in //film/title
return <name>{data($t)}</name>

<name>Tides</name>

====

(: over target: the kind of an article :)
for $a in //article where $a/name = "Tides" return $a/kind

for $k in /shelf/*
where $k/title = "Tides"
return <kind>{data(parse-xml-fragment(replace(replace(local-name($k), "^_x(00)?0000_$", ""), "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_", "&amp;#x$1;")))}</kind>

<kind>film</kind>
<kind>book</kind>

====

(: over target: what has no kind :)
for $a in //article where empty($a/kind) return $a/name

()

()

lost: its conditions contradict each other, on every document

====

(: over target: kinds are compared :)
for $a in //article, $b in //article where $a/name = $b/name and $a/kind != $b/kind return <x>{$a/kind}{data($b/kind)}</x>

for $k in /shelf/*, $k2 in /shelf/*[title = $k/title]
where data(parse-xml-fragment(replace(replace(local-name($k), "^_x(00)?0000_$", ""), "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_", "&amp;#x$1;"))) != data(parse-xml-fragment(replace(replace(local-name($k2), "^_x(00)?0000_$", ""), "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_", "&amp;#x$1;")))
return <x><kind>{data(parse-xml-fragment(replace(replace(local-name($k), "^_x(00)?0000_$", ""), "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_", "&amp;#x$1;")))}</kind>{data(parse-xml-fragment(replace(replace(local-name($k2), "^_x(00)?0000_$", ""), "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_", "&amp;#x$1;")))}</x>

<x><kind>film</kind>book</x>
<x><kind>book</kind>film</x>

====

(: over source: a tag is a value :)
//book/title

for $a in //article
where $a/kind = "book"
return <title>{data($a/name)}</title>

<title>Tides</title>
<title>Dunes</title>

====

(: over source: any tag :)
/shelf/*/title

for $a in //article
where exists($a/kind)
return <title>{data($a/name)}</title>

<title>Tides</title>
<title>Dunes</title>

====

(: over source: a tag outside the box :)
//comic/title

for $a in //article
where $a/kind = "comic"
return <title>{data($a/name)}</title>

()
