for $o in //open_auction, $p in //person
where $o/seller/@person = $p/@id and $o/type = "Featured"
return <seller auction="{$o/@id}">{$p/name}</seller>
