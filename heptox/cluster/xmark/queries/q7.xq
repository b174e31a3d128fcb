for $c in //closed_auction, $i in //item, $p in //person
where $c/itemref/@item = $i/@id and $c/buyer/@person = $p/@id and $i/location = "Germany"
return <sold to="{$p/name}">{$i/name}</sold>
