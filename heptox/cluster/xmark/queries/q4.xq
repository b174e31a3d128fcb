for $c in //closed_auction, $p in //person
where $c/buyer/@person = $p/@id and $c/price >= 40 and $p/address/country = "Germany"
return <purchase>{$p/name}{$c/price}</purchase>
