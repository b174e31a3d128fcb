for $i in /site/regions/europe/item, $c in //closed_auction
where $c/itemref/@item = $i/@id and $c/type = "Regular"
return <sold>{$i/name}{$c/price}</sold>
