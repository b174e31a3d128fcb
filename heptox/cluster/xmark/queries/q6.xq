for $o in //open_auction, $i in //item, $p in //person
where $o/itemref/@item = $i/@id and $o/seller/@person = $p/@id
return <offer><what>{data($i/name)}</what><who>{data($p/name)}</who>{$o/current}</offer>
