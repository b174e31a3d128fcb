for $i in //item, $c in //category
where $i/incategory/@category = $c/@id and $c/name = "clocks"
return <found>{$i/name}{$i/description//keyword}</found>
