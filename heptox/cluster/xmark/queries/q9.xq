for $o in //open_auction, $b in $o/bidder, $i in //item, $p in //person
where $b/personref/@person = $p/@id and $o/itemref/@item = $i/@id and $b/increase > 5 and $p/address/country = "Germany"
return <bid on="{$i/name}">{$p/name}{$b/increase}</bid>
