for $p in //person, $n in $p/profile/interest, $k in //category, $i in //item, $c in //closed_auction
where $n/@category = $k/@id and $i/incategory/@category = $k/@id and $c/itemref/@item = $i/@id
  and $k/name = "clocks" and $c/price > 40
return <tip for="{$p/name}">{$i/name}{$c/price}</tip>
