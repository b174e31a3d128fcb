(: over target: a subtree is returned whole :)
//paper/abstract

for $a in //article/abstract
return $a

<abstract>On <emph>mosses</emph>.</abstract>
<abstract/>

====

(: over target: a query goes on inside :)
//paper/text//item[@mark = "1"]

for $v in //item
where $v/@mark = "1"
return $v

<item mark="1">soft</item>
<item mark="1">pale</item>

====

(: over target: inside, at any depth :)
for $p in //paper, $e in $p/text//emph where $e/emph return <x>{$p/heading}{$e/emph}</x>

for $a in //article, $v in $a/body//emph
where $v/emph
return <x><heading>{data($a/title)}</heading>{$v/emph}</x>

<x><heading>Mosses</heading><emph>small</emph></x>

====

(: over target: several inside, in a constructor :)
for $p in //paper return <x id="{$p/@id}">{$p/text/list/item}</x>

for $a in //article
return <x id="{data($a/@doi)}">{$a/body/list/item}</x>

<x id="10/a"><item mark="1">soft</item><item>green <list><item mark="1">pale</item></list></item></x>
<x id="10/b"/>
<x id="10/c"/>

====

(: over target: values inside are compared :)
for $p in //paper where $p/text/emph = "larger" return $p/heading

for $a in //article
where $a/body/emph = "larger"
return <heading>{data($a/title)}</heading>

<heading>Ferns</heading>

====

(: over target: there or not :)
//paper[empty(abstract)]/heading

for $a in //article
where empty($a/abstract)
return <heading>{data($a/title)}</heading>

<heading>Ferns</heading>

====

(: over source: the other way :)
//article/body//item[@mark = "1"]

for $v in //item
where $v/@mark = "1"
return $v

<item mark="1">soft</item>
<item mark="1">pale</item>

====

(: over source: a condition inside, and the whole :)
for $a in //article where $a/abstract/emph = "mosses" return $a/abstract

for $p in //paper
where $p/abstract/emph = "mosses"
return $p/abstract

<abstract>On <emph>mosses</emph>.</abstract>

====

(: over source: what is inside one that is called differently :)
//article/body/list

for $l in //text/list
return $l

<list><item mark="1">soft</item><item>green <list><item mark="1">pale</item></list></item></list>

====

(: over source: the copy would have to be returned under another name :)
//article/body

refused: HX3051 <body> is a copy of <text>: returning it under the other name is not translated exactly yet

====

(: over source: wherever it stands :)
//emph

(
  for $v in //text//emph
  return $v,
  for $v in //abstract//emph
  return $v
)

<emph>very <emph>small</emph></emph>
<emph>small</emph>
<emph>larger</emph>
<emph>mosses</emph>
